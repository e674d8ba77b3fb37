// Runs out of file descriptors: the server accepts connections again, even if clients keep theirs open.
import assert from "node:assert/strict";
import { type Connection, connectTo, requestText } from "../support/connection.ts";
import { sendJson } from "../support/journey.ts";
import { poll } from "../support/poll.ts";
import { isReady, killProgram, startProgram } from "../support/program.ts";

/** Descriptors available to the program, and connections that clients open. */
const descriptors = 256;
const connections = 320;

async function isAnswered(baseUrl: string): Promise<boolean> {
  const response = await fetch(`${baseUrl}/health/live`, { signal: AbortSignal.timeout(2_000) }).catch(() =>
    null
  );
  await response?.body?.cancel();
  return response?.ok === true;
}

Deno.test("completes requests and accepts connections again after running out of file descriptors", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-listen-" });
  const limited = ["bash", "-c", `ulimit -n ${descriptors}; exec "$@"`, "limited"];
  const program = startProgram({ folder, through: limited });
  const open: Connection[] = [];
  try {
    await isReady(program);
    const credentials = { email: "ada@example.com", password: "correct horse battery" };
    // Starts the hashing thread.
    assert.equal((await sendJson(program.baseUrl, "/api/auth/sign-in", { json: credentials })).status, 401);
    const json = JSON.stringify(credentials);
    const slow = await connectTo(
      program.baseUrl,
      requestText("POST", "/api/auth/sign-in", {
        headers: {
          origin: program.baseUrl,
          "content-type": "application/json",
          "content-length": String(json.length),
        },
        body: json.slice(0, 10),
      }),
    );
    open.push(slow);
    // Silent from the start, idle after a request, and stalled within the headers of one.
    const texts = ["", requestText("GET", "/health/live"), "GET /health/live HTT"];
    try {
      for (let count = 0; count < connections; count++) {
        open.push(await connectTo(program.baseUrl, texts[count % texts.length]));
      }
    } catch (error) {
      // The port is closed.
      assert(error instanceof Deno.errors.ConnectionRefused, String(error));
    }
    await poll(() => program.output().includes("stopped accepting connections"));
    await slow.send(json.slice(10));
    await poll(() => slow.received() !== "");
    assert.match(slow.received(), /^HTTP\/1\.1 401 /);
    await poll(() => isAnswered(program.baseUrl), 40_000);
    await poll(() => program.output().includes("accepting connections again"));
    assert.equal(program.output().split("stopped accepting").length, 2, program.output());
    program.kill("SIGTERM");
    assert.equal(await program.ended(), 0, program.output());
  } finally {
    for (const connection of open) connection.close();
    await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
});
