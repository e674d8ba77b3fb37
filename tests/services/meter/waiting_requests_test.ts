// Requests that wait for the counters of limits.
import assert from "node:assert/strict";
import { AppError } from "../../../domain/errors.ts";
import { type WaitingRequest, WaitingRequests } from "../../../services/meter/waiting_requests.ts";

type Context = ConstructorParameters<typeof WaitingRequests>[0];

function newWaiting(organization: number, reject: (error: unknown) => void): WaitingRequest {
  const input = {
    productSlug: "tiles",
    metric: "requests",
    quantity: { whole: 1, micro: 0 },
    timestamp: null,
    idempotencyKey: null,
    properties: null,
  };
  const request = {
    keyHash: "",
    source: "",
    organizationId: `${organization}`,
    inputs: [input],
    bytes: 1,
    repeats: null,
    queuedAt: 0,
    resolve: () => {},
    reject,
  };
  return { request, cells: [{ usageLimit: 1, organization, windowNumber: 0, at: 0 }] };
}

Deno.test("as much of an organization waits as its share, and others have their own", async () => {
  const { promise: isRetried, resolve: onRetried } = Promise.withResolvers<void>();
  const { promise: mayRead, resolve: allowReading } = Promise.withResolvers<never[]>();
  const context = { reports: { read: () => mayRead }, database: {} } as unknown as Context;
  let retried = 0;
  const waiting = new WaitingRequests(context, {
    shareMax: { records: 3, bytes: 100 },
    retry: (requests) => {
      retried += requests.length;
      if (waiting.isEmpty) onRetried();
    },
  });
  const codes: unknown[] = [];
  const reject = (error: unknown) => codes.push(error instanceof AppError && error.code);
  waiting.add([newWaiting(1, reject), newWaiting(2, reject)]);
  for (let n = 0; n < 4; n++) waiting.add([newWaiting(1, reject)]);
  waiting.add([newWaiting(2, reject)]);
  assert.deepEqual(codes, ["unavailable", "unavailable"]);
  assert.equal(waiting.isEmpty, false);
  allowReading([]);
  await isRetried;
  assert.equal(retried, 5);
});
