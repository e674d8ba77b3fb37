// The threads for passwords and reports start when they are first needed. Deno aborts the process when a thread starts without
// free file descriptors.
import assert from "node:assert/strict";
import { type Connection, connectTo, requestText } from "../support/network/connection.ts";
import { sendJson, signUpAndRecord } from "../support/process/journey.ts";
import { poll } from "../support/runner/poll.ts";
import type { Program } from "../support/process/program.ts";
import { onServer, stop } from "../support/process/scene.ts";

/** Descriptors available to the program, and more connections than that. */
const descriptors = 200;
const connections = 300;

const reportPath = "/api/v1/usage?window=month";

/** Opens idle connections until the server has no free descriptor. */
async function exhaust({ baseUrl, output }: Program, open: Connection[]): Promise<void> {
  try {
    for (let count = 0; count < connections; count++) open.push(await connectTo(baseUrl));
  } catch (error) {
    // The port is closed, or was closed before the connection was accepted.
    const { ConnectionRefused, ConnectionReset } = Deno.errors;
    assert(error instanceof ConnectionRefused || error instanceof ConnectionReset, String(error));
  }
  await poll(() => output().includes("stopped accepting connections"));
}

Deno.test("a first sign-in and a first report without free file descriptors don't end the program", () =>
  onServer({}, async ({ program: first, start }) => {
    const { fullKey: apiKey } = await signUpAndRecord(first.baseUrl);
    await stop(first);
    const limited = ["bash", "-c", `ulimit -n ${descriptors}; exec "$@"`, "limited"];
    const program = await start({ through: limited });
    const { baseUrl } = program;
    const credentials = { email: "nobody@example.com", password: "a wrong but long one" };
    const body = JSON.stringify(credentials);
    const headers = {
      origin: baseUrl,
      "content-type": "application/json",
      "content-length": String(body.length),
    };
    const report = await connectTo(baseUrl);
    // While this request is in progress, the server keeps all connections.
    const signIn = await connectTo(
      baseUrl,
      requestText("POST", "/api/auth/sign-in", { headers, body: body.slice(0, 10) }),
    );
    const open = [report, signIn];
    try {
      await exhaust(program, open);
      await report.send(requestText("GET", reportPath, { headers: { authorization: `Bearer ${apiKey}` } }));
      await poll(() => report.received() !== "");
      assert.match(report.received(), /^HTTP\/1\.1 503 /);
      await signIn.send(body.slice(10));
      await poll(() => signIn.received() !== "");
      assert.match(signIn.received(), /^HTTP\/1\.1 503 /);
    } finally {
      for (const connection of open) connection.close();
    }
    // The server opens its port again, which can take it a moment.
    const status = async (path: string, options: { apiKey?: string; json?: unknown }) =>
      (await sendJson(baseUrl, path, options).catch(() => null))?.status;
    await poll(async () => await status(reportPath, { apiKey }) === 200);
    await poll(async () => await status("/api/auth/sign-in", { json: credentials }) === 401);
    await stop(program);
  }));
