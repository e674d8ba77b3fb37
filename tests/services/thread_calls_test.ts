// Calls between threads: errors arrive as what they were, and ports are transferred.
import assert from "node:assert/strict";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { DatabaseError } from "../../db/engine/database.ts";
import { AppError } from "../../domain/errors.ts";
import { connectCalls } from "../../services/thread_calls.ts";

/** Calls over a pair of ports while `act` runs. */
async function withCalls<Own extends object>(
  functions: Own,
  act: (calls: Own) => Promise<void>,
): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  connectCalls(port1, functions, { thread: "main thread" });
  try {
    await act(connectCalls<Own, object>(port2, {}, { thread: "HTTP thread 2" }) as Own);
  } finally {
    port1.close();
    port2.close();
  }
}

function failing(error: unknown): { fail: () => Promise<void> } {
  return { fail: () => Promise.reject(error) };
}

Deno.test("an error for the caller keeps its class, code, details and time to wait", () => {
  const details = [{ path: "password", message: "is too short" }];
  const error = new AppError("rate_limited", "Too many attempts.", { details, retryAfterSeconds: 7 });
  return withCalls(failing(error), (calls) =>
    assert.rejects(calls.fail(), (received) => {
      assert(received instanceof AppError);
      const { code, message, retryAfterSeconds, status } = received;
      assert.deepEqual([code, message, retryAfterSeconds, status], [
        "rate_limited",
        "Too many attempts.",
        7,
        429,
      ]);
      assert.deepEqual(received.details, details);
      return true;
    }));
});

Deno.test("an error of the database keeps its class and kind", () =>
  withCalls(
    failing(new DatabaseError("constraint", "UNIQUE")),
    (calls) =>
      assert.rejects(calls.fail(), (received) => {
        assert(received instanceof DatabaseError);
        assert.deepEqual([received.kind, received.message], ["constraint", "UNIQUE"]);
        return true;
      }),
  ));

Deno.test("any other error names its thread and has the stack trace", () =>
  withCalls(
    failing(new RangeError("a bug")),
    (calls) => assert.rejects(calls.fail(), /in the main thread: RangeError: a bug\n.*thread_calls_test/),
  ));

Deno.test("transfers ports, and passes an omitted value as undefined", () => {
  const functions = {
    echo: (port: MessagePort) => {
      port.once("message", (text) => {
        port.postMessage(`${text}!`);
        port.close();
      });
      return Promise.resolve();
    },
    isOmitted: (value?: string) => Promise.resolve(value === undefined),
  };
  return withCalls(functions, async (calls) => {
    const { port1, port2 } = new MessageChannel();
    await calls.echo(port2);
    const { promise, resolve } = Promise.withResolvers<string>();
    port1.on("message", resolve);
    port1.postMessage("ping");
    assert.equal(await promise, "ping!");
    assert.equal(await calls.isOmitted(undefined), true);
    port1.close();
  });
});
