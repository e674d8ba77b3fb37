// The listener by itself: one address for its whole life, a bounded number of idle connections, an orderly end.
import assert from "node:assert/strict";
import { Listener } from "../../../commands/serve/listen.ts";
import { type Connection, connectTo, requestText } from "../../support/connection.ts";
import { poll } from "../../support/poll.ts";

const idleConnections = 40;

function descriptors(): number {
  return [...Deno.readDirSync("/proc/self/fd")].length;
}

Deno.test("too many idle connections are closed; the request in progress and new connections are answered", async () => {
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
  const lines: string[] = [];
  const write = (message: string) => void lines.push(message);
  let baseUrl = "";
  const listener = new Listener(async (request) => {
    if (request.url.endsWith("/slow")) await mayAnswer;
    return new Response("answered");
  }, {
    hostname: "127.0.0.1",
    port: 0,
    log: { info: write, warn: write, error: write },
    onListen: ({ port }) => baseUrl = `http://127.0.0.1:${port}`,
    // This process has both ends of each connection: all of them together exceed the limit.
    descriptorsMax: descriptors() + 2 * idleConnections,
  });
  const slow = await connectTo(baseUrl, requestText("GET", "/slow"));
  const idle: Connection[] = [];
  for (let count = 0; count < idleConnections; count++) {
    idle.push(await connectTo(baseUrl, count % 2 === 0 ? "" : requestText("GET", "/")));
  }
  try {
    await poll(() => idle.every(({ isClosed }) => isClosed()));
    assert.equal(slow.isClosed(), false);
    answer();
    await poll(() => slow.received().endsWith("answered"));
    await poll(async () => {
      const response = await fetch(baseUrl).catch(() => null);
      return await response?.text() === "answered";
    });
    assert.deepEqual(lines, ["too many connections: idle ones are being closed"]);
  } finally {
    answer();
    for (const connection of [slow, ...idle]) connection.close();
    await listener.shutdown();
  }
});
