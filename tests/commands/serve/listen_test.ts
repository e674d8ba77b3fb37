// The listener by itself: one address for its whole life, a bounded number of idle connections, a clean shutdown.
import assert from "node:assert/strict";
import { Listener } from "../../../commands/serve/listen.ts";
import { type Connection, connectTo, requestText } from "../../support/network/connection.ts";
import { poll } from "../../support/runner/poll.ts";

const idleConnections = 40;

function descriptors(): number {
  return [...Deno.readDirSync("/proc/self/fd")].length;
}

Deno.test("closes idle connections beyond the limit, and completes the request in progress and new ones", async () => {
  const { promise: mayRespond, resolve: respond } = Promise.withResolvers<void>();
  const lines: string[] = [];
  const write = (message: string) => void lines.push(message);
  const listener = new Listener(async (request) => {
    if (request.url.endsWith("/slow")) await mayRespond;
    return new Response("done");
  }, {
    hostname: "127.0.0.1",
    port: 0,
    log: { info: write, warn: write, error: write },
    // This process has both ends of each connection: all of them together exceed the limit.
    descriptorsMax: descriptors() + 2 * idleConnections,
  });
  const baseUrl = `http://127.0.0.1:${listener.port}`;
  const slow = await connectTo(baseUrl, requestText("GET", "/slow"));
  const idle: Connection[] = [];
  for (let count = 0; count < idleConnections; count++) {
    idle.push(await connectTo(baseUrl, count % 2 === 0 ? "" : requestText("GET", "/")));
  }
  try {
    await poll(() => idle.every(({ isClosed }) => isClosed()));
    assert.equal(slow.isClosed(), false);
    respond();
    await poll(() => slow.received().endsWith("done"));
    assert.match(slow.received(), /^connection: close\r$/im);
    assert.match(slow.received(), /^content-length: 4\r$/im);
    await poll(async () => {
      const response = await fetch(baseUrl).catch(() => null);
      return await response?.text() === "done";
    });
    assert.deepEqual(lines, ["too many connections: idle ones are being closed"]);
  } finally {
    respond();
    for (const connection of [slow, ...idle]) connection.close();
    await listener.finish();
    await listener.close();
  }
});
