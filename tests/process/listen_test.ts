// Runs out of file descriptors: all threads accept connections again, even if clients keep theirs open.
import assert from "node:assert/strict";
import { type Connection, connectTo, requestText } from "../support/network/connection.ts";
import { sendJson } from "../support/process/journey.ts";
import { poll } from "../support/runner/poll.ts";
import { onServer, type Scene, stop } from "../support/process/scene.ts";
import { isFull } from "../support/runner/extent.ts";
import { sendToAll } from "../support/process/threads.ts";

/** Descriptors available to the program, and connections that clients open. */
const descriptors = 256;
const connections = 320;

async function isAnswered(baseUrl: string): Promise<boolean> {
  const response = await fetch(`${baseUrl}/health/live`, { signal: AbortSignal.timeout(10_000) }).catch(() =>
    null
  );
  await response?.body?.cancel();
  return response?.ok === true;
}

async function runsOut({ program }: Scene, threads: number): Promise<void> {
  const open: Connection[] = [];
  try {
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
    for (let count = 0; count < connections; count++) {
      try {
        open.push(await connectTo(program.baseUrl, texts[count % texts.length]));
      } catch (error) {
        // All threads have stopped listening, or the one that would have accepted this connection.
        const { ConnectionRefused, ConnectionReset, NotConnected } = Deno.errors;
        const isClosed = [ConnectionRefused, ConnectionReset, NotConnected].some((one) =>
          error instanceof one
        );
        assert(isClosed, String(error));
      }
    }
    await poll(() => program.output().includes("stopped accepting connections"));
    await slow.send(json.slice(10));
    await poll(() => slow.received() !== "");
    assert.match(slow.received(), /^HTTP\/1\.1 401 /);
    // The client must not send its next request to a server that is about to close the connection.
    if (threads === 1) assert.match(slow.received(), /^connection: close\r$/im);
    await poll(() => isAnswered(program.baseUrl));
    const count = (message: string) => program.output().split(message).length - 1;
    await poll(() => count("accepting connections again") === count("stopped accepting"));
    assert(count("stopped accepting") <= threads, program.output());
    await sendToAll(program.baseUrl, "/health/live", { threads });
    await stop(program);
  } finally {
    for (const connection of open) connection.close();
  }
}

const limited = ["bash", "-c", `ulimit -n ${descriptors}; exec "$@"`, "limited"];
for (const threads of isFull ? [1, 2, 4] : [1, 2]) {
  Deno.test(`completes requests and accepts connections again with ${threads} threads after running out of file descriptors`, () =>
    onServer(
      { through: limited, env: { HTTP_THREADS: String(threads) } },
      (scene) => runsOut(scene, threads),
    ));
}
