// Measures the memory that unfinished request bodies take: before, while they arrive, and after the responses.
// Usage: unfinished_bodies.ts [CONNECTIONS] [KIB]. Bodies of up to 64 KiB go to /sign-in without an account; larger ones
// go to /api/v1/usage/batch with an API key.
import { connectTo, requestText } from "../tests/support/network/connection.ts";
import { signUpAndRecord } from "../tests/support/process/journey.ts";
import { isReady, killProgram, startProgram } from "../tests/support/process/program.ts";
import { printLine } from "./settings.ts";

const [connections = 1_500, kib = 64] = Deno.args.map(Number);
const waves = 2;
const requestSeconds = 10;
const settleSeconds = 5;
const folder = await Deno.makeTempDir({ prefix: "gatehouse-bodies-" });
const program = startProgram({ folder, env: { LOG_LEVEL: "warning" } });

async function residentMegabytes(): Promise<number> {
  const text = await (await fetch(`${program.baseUrl}/metrics`)).text();
  return Math.round(Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]) / 1e6);
}

try {
  await isReady(program);
  const { fullKey } = await signUpAndRecord(program.baseUrl);
  const before = await residentMegabytes();
  const length = kib * 1024;
  const isStranger = kib <= 64;
  const text = requestText("POST", isStranger ? "/sign-in" : "/api/v1/usage/batch", {
    headers: {
      origin: program.baseUrl,
      "content-length": String(length),
      ...(isStranger
        ? { "content-type": "application/x-www-form-urlencoded" }
        : { "content-type": "application/json", authorization: `Bearer ${fullKey}` }),
    },
    body: "a".repeat(length - 1),
  });
  for (let wave = 1; wave <= waves; wave++) {
    const open = await Promise.all(
      Array.from({ length: connections }, async () => {
        const connection = await connectTo(program.baseUrl);
        // The server closes a connection while it sends a rejected body.
        connection.send(text).catch(() => {});
        return connection;
      }),
    );
    let most = 0;
    const until = performance.now() + (requestSeconds + settleSeconds) * 1_000;
    while (performance.now() < until) {
      most = Math.max(most, await residentMegabytes());
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    const counts: Record<string, number> = {};
    for (const { received } of open) {
      const status = /^HTTP\/1\.1 (\d+)/.exec(received())?.[1] ?? "none";
      counts[status] = (counts[status] ?? 0) + 1;
    }
    const closed = open.filter(({ isClosed }) => isClosed()).length;
    const after = await residentMegabytes();
    printLine(
      `wave ${wave}: ${connections} unfinished bodies of ${kib} KiB: ${
        JSON.stringify(counts)
      }, ${closed} closed`,
    );
    printLine(`resident memory: ${before} MB before, ${most} MB at most, ${after} MB after`);
    for (const connection of open) connection.close();
  }
} finally {
  await killProgram(program);
  await Deno.remove(folder, { recursive: true });
}
