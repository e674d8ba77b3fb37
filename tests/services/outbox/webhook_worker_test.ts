// Deliveries: when they are sent, retried, held and given up, and that no two servers send one at the same time.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { webhookAttemptTimeoutMs, webhookRetryWaitsMs } from "../../../domain/outbox/webhook_limits.ts";
import type { SendOptions, TestApp } from "../../support/app/app.ts";
import { makeOperator, newOperatorToken } from "../../support/operators/operators.ts";
import {
  addEndpoint,
  addEvents,
  anotherWorker,
  assertSigned,
  deleteEndpoints,
  deliveriesOf,
  type Receiver,
  stateOf,
  status,
  statusesOf,
  webhookTest,
} from "../../support/webhooks/endpoints.ts";

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

/** As the guide promises to receivers. */
const promisedWaitsMs = [
  ...[5_000, 5 * minuteMs, 30 * minuteMs],
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs),
];

webhookTest("retries with the same id as the schedule says, then gives up", async (scene) => {
  const { test, organizationId, receiver } = scene;
  assert.deepEqual([webhookAttemptTimeoutMs, webhookRetryWaitsMs], [15_000, promisedWaitsMs]);
  receiver.respond(status(500));
  const endpoint = await addEndpoint(test, { organizationId, url: receiver.url });
  const [eventId] = await addEvents(test, organizationId);
  for (const random of [0, 0.5, 1]) {
    const waits: number[] = [];
    const worker = anotherWorker(test, { random: () => random });
    for (;;) {
      const { nextDueAt } = await worker.deliverDue();
      if (nextDueAt === null) break;
      waits.push(nextDueAt - test.now());
      // Not a moment too early.
      test.advance(nextDueAt - test.now() - 1);
      assert.equal((await worker.deliverDue()).sent, 0);
      test.advance(1);
    }
    assert.deepEqual(waits, promisedWaitsMs.map((wait) => Math.round(wait * (0.9 + 0.2 * random))));
    assert.equal(receiver.received.length, 10);
    assert.ok(receiver.received.every(({ id }) => id === eventId));
    for (const request of receiver.received) assertSigned(request, endpoint.secret);
    const [delivery] = await deliveriesOf(test, endpoint);
    assert.deepEqual(delivery, {
      eventId,
      status: "failed",
      attempts: 10,
      code: "status",
      responseStatus: 500,
    });
    // As a replay does.
    await test.opened.database.write([
      sql`UPDATE webhook_deliveries SET status = 'waiting', attempts = 0, due_at = ${test.now()}`,
      sql`UPDATE webhooks SET failing_since = NULL, failures = 0`,
    ]);
    receiver.received.length = 0;
  }
  receiver.respond(status(204));
  assert.equal((await anotherWorker(test).deliverDue()).sent, 1);
  assert.deepEqual(
    (await deliveriesOf(test, endpoint)).map(({ status, attempts }) => [status, attempts]),
    [["delivered", 1]],
  );
  assert.equal((await stateOf(test, endpoint)).failures, 0);
});

/** @returns The actors in the bodies that an endpoint got and in those that its deliveries show, each once. */
async function actorsIn(
  test: TestApp,
  { received }: Receiver,
  { path, by }: { path: string; by: SendOptions },
): Promise<string[]> {
  const { deliveries } = await (await test.send(`${path}/deliveries`, by)).json();
  assert.deepEqual([received.length, deliveries.length], [4, 4]);
  const shown = await Promise.all(deliveries.map(async ({ id }: { id: string }) => {
    const response = await test.send(`${path}/deliveries/${id}`, by);
    return (await response.json()).delivery.payload.data.actor;
  }));
  const actors = [...received.map(({ body }) => JSON.parse(body).data.actor), ...shown];
  return [...new Set(actors.map((actor) => JSON.stringify(actor)))].sort();
}

webhookTest("tells only operators' endpoints which operator acted", async (scene) => {
  const { test, organizationId, cookie, receiver: customers, other: operators } = scene;
  const { userId, ...olive } = await test.signUp("Olive");
  await makeOperator(test, { userId });
  const { id: tokenId, fullToken: apiKey } = await newOperatorToken(test);
  const own = await addEndpoint(test, { organizationId, url: customers.url });
  const all = await addEndpoint(test, { organizationId: null, url: operators.url });
  const path = `/api/operator/organizations/${organizationId}`;
  for (const by of [{ cookie: olive.cookie }, { apiKey }]) {
    for (const status of ["suspended", "active"]) {
      const response = await test.send(path, { method: "PATCH", ...by, json: { status } });
      assert.equal(response.status, 200, await response.text());
    }
  }
  await anotherWorker(test).deliverDue();
  const byCustomer = { path: `/api/portal/webhooks/${own.id}`, by: { cookie } };
  assert.deepEqual(await actorsIn(test, customers, byCustomer), [
    JSON.stringify({ type: "operator", id: null, name: null }),
  ]);
  const byOperator = { path: `/api/operator/webhooks/${all.id}`, by: { apiKey } };
  assert.deepEqual(await actorsIn(test, operators, byOperator), [
    JSON.stringify({ type: "operator", id: tokenId, name: "Invoices" }),
    JSON.stringify({ type: "operator", id: userId, name: "Olive" }),
  ]);
});

webhookTest("waits for Retry-After up to 24 hours, and never less than the schedule", async (scene) => {
  const { test, organizationId, receiver } = scene;
  const worker = anotherWorker(test, { random: () => 0.5 });
  const date = new Date(Math.ceil(test.now() / 1000) * 1000 + hourMs).toUTCString();
  for (
    const [header, wait] of [
      ["3600", hourMs],
      ["999999", dayMs],
      ["1", 5_000],
      [date, Date.parse(date) - test.now()],
      ["soon", 5_000],
    ] as const
  ) {
    receiver.respond(status(503, { "retry-after": header }));
    const endpoint = await addEndpoint(test, { organizationId, url: receiver.url });
    await addEvents(test, organizationId);
    const { nextDueAt } = await worker.deliverDue();
    assert.equal(nextDueAt, test.now() + wait, header);
    await deleteEndpoints(test, sql`id = ${endpoint.id}`);
  }
});

webhookTest(
  "disables an endpoint that is gone, tells people and endpoints, and holds its events",
  async ({ test, organizationId, receiver, other }) => {
    await test.opened.database.write([sql`UPDATE users SET email_verified_at = 1`]);
    receiver.respond(status(410));
    const endpoint = await addEndpoint(test, { organizationId, url: receiver.url });
    const watcher = await addEndpoint(test, {
      organizationId,
      url: other.url,
      events: ["webhook.disabled"],
    });
    await addEvents(test, organizationId);
    const worker = anotherWorker(test);
    await worker.deliverDue();
    await addEvents(test, organizationId, 2);
    await worker.deliverDue();
    assert.equal(receiver.received.length, 1);
    assert.deepEqual(await statusesOf(test, endpoint), [
      "held",
      "held",
      "held",
    ]);
    assert.deepEqual(await stateOf(test, endpoint).then(({ reason, waiting }) => [reason, waiting]), [
      "gone",
      0,
    ]);
    assert.equal(worker.disabled.gone, 1);
    const [told] = other.received;
    assert.ok(told);
    assertSigned(told, watcher.secret);
    const { type, data } = JSON.parse(told.body);
    assert.deepEqual([type, data.webhook], ["webhook.disabled", { id: endpoint.id, reason: "gone" }]);
    assert.match((await test.mails()).at(-1)?.text ?? "", /410 Gone.*\n[^]*portal\/webhooks\/whk_/);
    const [entry] = await test.opened.database.read(
      sql`SELECT actor_type AS actor, details FROM audit_events WHERE action = 'webhook.disabled'`,
    );
    assert.deepEqual(entry, { actor: "system", details: '{"reason":"gone"}' });
    // Enabling it sends nothing that was held.
    receiver.respond(status(204));
    await test.opened.database.write([
      sql`UPDATE webhooks SET disabled_at = NULL, disabled_reason = NULL`,
    ]);
    assert.equal((await worker.deliverDue()).sent, 0);
  },
);

webhookTest(
  "disables an endpoint after five days and ten failures, but not before either",
  async ({ test, organizationId, receiver }) => {
    receiver.respond(status(500));
    const worker = anotherWorker(test);
    const endpoint = await addEndpoint(test, { organizationId, url: receiver.url });
    const failTimes = async (times: number) => {
      await addEvents(test, organizationId, times);
      await worker.deliverDue();
      // Their next attempts don't matter here.
      await test.opened.database.write([
        sql`UPDATE webhook_deliveries SET status = 'failed' WHERE status = 'waiting'`,
      ]);
    };
    await failTimes(8);
    test.advance(5 * dayMs);
    await failTimes(1);
    assert.deepEqual((await stateOf(test, endpoint)).reason, null, "nine failures in five days");
    receiver.respond(status(200));
    await failTimes(1);
    assert.deepEqual(
      await stateOf(test, endpoint),
      { reason: null, failures: 0, failingSince: null, waiting: 0 },
      "a success starts again",
    );
    receiver.respond(status(500));
    await failTimes(20);
    test.advance(5 * dayMs - 1);
    await failTimes(1);
    assert.equal((await stateOf(test, endpoint)).reason, null, "a moment less than five days");
    test.advance(1);
    await failTimes(1);
    assert.equal((await stateOf(test, endpoint)).reason, "failing");
    assert.equal(worker.disabled.failing, 1);
  },
);

webhookTest("signs with both secrets until the old one ends", async ({ test, organizationId, receiver }) => {
  const old = await addEndpoint(test, { organizationId, url: receiver.url });
  const next = await addEndpoint(test, { organizationId, url: receiver.url, events: ["webhook.test"] });
  await test.opened.database.write([
    sql`UPDATE webhooks SET old_secret = secret, old_secret_until = ${test.now() + hourMs},
        secret = (SELECT secret FROM webhooks WHERE id = ${next.id}) WHERE id = ${old.id}`,
  ]);
  const worker = anotherWorker(test);
  await addEvents(test, organizationId);
  await worker.deliverDue();
  test.advance(hourMs);
  await addEvents(test, organizationId);
  await worker.deliverDue();
  const [during, after] = receiver.received;
  assert.ok(during && after);
  for (const { secret } of [old, next]) assertSigned(during, secret);
  assertSigned(after, next.secret);
  assert.throws(() => assertSigned(after, old.secret));
});

webhookTest("keeps deliveries waiting while their secret can't be decrypted", async (scene) => {
  const { test, organizationId, receiver } = scene;
  const endpoint = await addEndpoint(test, { organizationId, url: receiver.url });
  const [{ secret } = { secret: "" }] = await test.opened.database.read<{ secret: string }>(
    sql`SELECT secret FROM webhooks`,
  );
  await test.opened.database.write([sql`UPDATE webhooks SET secret = 'v1-0123456789abcdef:AAAA'`]);
  await addEvents(test, organizationId, 3);
  const warnings: string[] = [];
  const log = { info: () => {}, warn: (message: string) => void warnings.push(message) };
  const worker = anotherWorker(test, { log });
  await worker.deliverDue();
  assert.equal(warnings.length, 1);
  assert.ok(
    (await deliveriesOf(test, endpoint)).every((d) => d.status === "waiting" && d.attempts === 0),
  );
  await test.opened.database.write([sql`UPDATE webhooks SET secret = ${secret}`]);
  test.advance(5 * minuteMs);
  await worker.deliverDue();
  assert.equal(receiver.received.length, 3);
});
