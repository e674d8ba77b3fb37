// Deliveries of several endpoints by several servers: no two send one at the same time, and none waits for another endpoint.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { newId } from "../../../domain/id.ts";
import { webhookAttemptTimeoutMs, webhookLeaseMs } from "../../../domain/outbox/webhook_limits.ts";
import { sendTestEvent } from "../../../services/outbox/test_delivery.ts";
import { deleteOldEvents } from "../../../services/outbox/upkeep.ts";
import { poll } from "../../support/runner/poll.ts";
import { letOthersRun } from "../../support/runner/random.ts";
import {
  addEndpoint,
  addEvents,
  anotherWorker,
  assertSigned,
  deleteEndpoints,
  deliveriesOf,
  deliverMeanwhile,
  sessionAccess,
  stateOf,
  status,
  webhookTest,
  webhookTestOnBothDatabases,
} from "../../support/webhooks/endpoints.ts";

const dayMs = 86_400_000;

webhookTestOnBothDatabases(
  "two servers send each event since the endpoint once, at most two at a time",
  async ({ test, organizationId, receiver, other: operators }) => {
    const stranger = await test.signUp("Grace Hopper");
    await addEvents(test, organizationId, 5);
    const endpoint = await addEndpoint(test, { organizationId, url: receiver.url });
    await addEndpoint(test, { organizationId: null, url: operators.url, events: ["organization.*"] });
    const ids = await addEvents(test, organizationId, 40);
    const others = await addEvents(test, stranger.organizationId, 3);
    // A request is in progress when a server looks for work.
    receiver.respond(async () => {
      await letOthersRun(20);
      return new Response();
    });
    const workers = [anotherWorker(test), anotherWorker(test)];
    await Promise.all(workers.map((worker) => worker.deliverDue()));
    assert.deepEqual(receiver.received.map(({ id }) => id).sort(), [...ids].sort());
    assert.deepEqual(operators.received.map(({ id }) => id).sort(), [...ids, ...others].sort());
    assert.ok(receiver.mostAtOnce() <= 2);
    assert.deepEqual([receiver.mostOfOneId(), operators.mostOfOneId()], [1, 1]);
    const deliveries = await deliveriesOf(test, endpoint);
    assert.ok(
      deliveries.length === 40 && deliveries.every((d) => d.status === "delivered" && d.attempts === 1),
    );
  },
);

webhookTestOnBothDatabases(
  "sends with the same id again when the lease of a server that died has ended, and not before",
  async ({ test, organizationId, receiver }) => {
    await addEndpoint(test, { organizationId, url: receiver.url });
    const [eventId] = await addEvents(test, organizationId);
    const { promise: died, resolve: die } = Promise.withResolvers<Response>();
    receiver.respond(() => died);
    const dying = deliverMeanwhile(anotherWorker(test));
    await poll(() => receiver.received.length > 0);
    const { promise: answered, resolve: answer } = Promise.withResolvers<Response>();
    receiver.respond(() => answered);
    const worker = anotherWorker(test);
    // An attempt also takes what passes between its lease and its start, and until its result is written.
    assert.ok(webhookLeaseMs > 2 * webhookAttemptTimeoutMs);
    test.advance(webhookLeaseMs - 1);
    assert.equal((await worker.deliverDue()).sent, 0);
    test.advance(1);
    const delivering = deliverMeanwhile(worker);
    await poll(() => receiver.received.length === 2);
    // Its result comes too late to count.
    die(new Response(null, { status: 500 }));
    await dying;
    answer(new Response(null, { status: 204 }));
    assert.equal((await delivering).sent, 1);
    assert.deepEqual(receiver.received.map(({ id }) => id), [eventId, eventId]);
    const [delivery] = await test.opened.database.read(
      sql`SELECT status, attempts, (SELECT count(*) FROM webhook_attempts) AS log FROM webhook_deliveries`,
    );
    assert.deepEqual(delivery, { status: "delivered", attempts: 1, log: 1 });
  },
);

webhookTest("gives requests back that are in progress when the server stops", async (scene) => {
  const { test, organizationId, receiver } = scene;
  await addEndpoint(test, { organizationId, url: receiver.url });
  await addEvents(test, organizationId);
  const { promise: hangs, resolve: end } = Promise.withResolvers<Response>();
  receiver.respond(() => hangs);
  const stopping = new AbortController();
  const running = anotherWorker(test, { graceMs: 1 }).run(stopping.signal);
  await poll(() => receiver.received.length > 0);
  stopping.abort();
  await running;
  end(new Response());
  receiver.respond(status(204));
  assert.equal((await anotherWorker(test).deliverDue()).sent, 1);
  const [delivery] = await test.opened.database.read(
    sql`SELECT status, attempts FROM webhook_deliveries`,
  );
  assert.deepEqual(delivery, { status: "delivered", attempts: 1 });
});

webhookTest("serves endpoints in turn, however many deliveries of one wait", async (scene) => {
  const { test, organizationId, receiver: slow, other: quick } = scene;
  const crowded = await addEndpoint(test, { organizationId, url: slow.url });
  await test.opened.database.write([
    sql`WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10050)
          INSERT INTO events (id, type, organization, at, facts) SELECT 'evt_' || printf('%032x', n), 'organization.resumed',
            (SELECT number FROM organizations WHERE id = ${organizationId}), ${test.now()}, '{}' FROM n`,
    sql`INSERT INTO webhook_deliveries (id, webhook, event, type, status, due_at, created_at)
          SELECT 'dlv_' || substr(id, 5), (SELECT number FROM webhooks), seq, type, 'waiting', at, at FROM events
          WHERE id LIKE 'evt_0000%'`,
    sql`UPDATE event_cursor SET delivered_seq = (SELECT max(seq) FROM events)`,
  ]);
  const { promise: never, resolve: end } = Promise.withResolvers<void>();
  slow.respond(() => never.then(status(204)));
  await addEndpoint(test, { organizationId, url: quick.url });
  const ids = await addEvents(test, organizationId, 20);
  const worker = anotherWorker(test);
  const delivering = deliverMeanwhile(worker);
  await poll(() => quick.received.length === 20);
  assert.deepEqual(quick.received.map(({ id }) => id).sort(), ids.sort());
  await addEvents(test, organizationId, 5);
  const beside = deliverMeanwhile(worker);
  await poll(() => quick.received.length === 25 && slow.received.length >= 2);
  assert.equal(slow.received.length, 2);
  // The oldest beyond 10,000 have failed, and not those in progress.
  const counts = await test.opened.database.read(
    sql`SELECT d.status, d.code, count(*) AS count, min(d.number) AS first FROM webhook_deliveries d
          JOIN webhooks w ON w.number = d.webhook WHERE w.id = ${crowded.id} GROUP BY 1, 2 ORDER BY 1`,
  );
  assert.deepEqual(counts.map(({ status, code, count }) => [status, code, count]), [
    ["failed", "overflow", 75],
    ["waiting", null, 10_000],
  ]);
  assert.equal(worker.counts.overflow, 75);
  // The quick endpoint's last delivery is stored only after its response.
  await poll(async () => (await test.parts.deliveriesState()).waiting <= 10_000);
  // No endpoint waits for its turn: the crowded one has all the requests that it may have.
  const { waiting, turnAt } = await test.parts.deliveriesState();
  assert.deepEqual([waiting, turnAt], [10_000, test.now() + webhookLeaseMs]);
  const [day] = await test.opened.database.read(sql`SELECT sum(failed) AS failed FROM webhook_days`);
  assert.equal(day?.["failed"], 75);
  await deleteEndpoints(test, sql`id = ${crowded.id}`);
  end();
  await Promise.all([delivering, beside]);
});

webhookTest(
  "sends an event before all but a few of the hundreds that wait for a failing endpoint",
  async ({ test, organizationId, receiver: dead, other: quick }) => {
    const crowded = await addEndpoint(test, { organizationId, url: dead.url });
    await addEvents(test, organizationId, 400);
    let failing = Promise.withResolvers<void>();
    dead.respond(() => failing.promise.then(status(503)));
    const worker = anotherWorker(test);
    const delivering = [deliverMeanwhile(worker)];
    await poll(async () => (await stateOf(test, crowded)).waiting === 400);
    await addEndpoint(test, { organizationId, url: quick.url });
    const sentBefore: number[] = [];
    for (let count = 1; count <= 20; count++) {
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
      const before = dead.received.length;
      quick.respond(() => {
        sentBefore.push(dead.received.length - before);
        arrive();
        return new Response();
      });
      failing.resolve();
      await addEvents(test, organizationId);
      delivering.push(deliverMeanwhile(worker));
      await arrived;
      failing = Promise.withResolvers();
    }
    assert.ok(Math.max(...sentBefore) <= 10, sentBefore.join());
    assert.ok(dead.received.length < 400, "the other endpoint had none left that were due");
    await deleteEndpoints(test, sql`id = ${crowded.id}`);
    failing.resolve();
    await Promise.all(delivering);
  },
);

webhookTest("tests a disabled endpoint once, without counting the result", async (scene) => {
  const { test, organizationId, receiver } = scene;
  const endpoint = await addEndpoint(test, { organizationId, url: receiver.url });
  await test.opened.database.write([
    sql`UPDATE webhooks SET disabled_at = 1, disabled_reason = 'gone', failures = 3`,
  ]);
  receiver.respond(status(410));
  const access = await sessionAccess(scene);
  const send = (id = endpoint.id) => sendTestEvent(test.services, { access }, { id, type: "limit.reached" });
  await send();
  assert.equal((await anotherWorker(test).deliverDue()).sent, 0);
  const [got, ...more] = receiver.received;
  assert.ok(got && more.length === 0);
  assertSigned(got, endpoint.secret);
  assert.equal(JSON.parse(got.body).type, "limit.reached");
  const [delivery] = await deliveriesOf(test, endpoint);
  assert.deepEqual([delivery?.status, delivery?.responseStatus], ["failed", 410]);
  assert.deepEqual(await stateOf(test, endpoint), {
    reason: "gone",
    failures: 3,
    failingSince: null,
    waiting: 0,
  });
  await assert.rejects(send(newId("whk")), { code: "not_found" });
  for (let sent = 2; sent <= 10; sent++) await send();
  await assert.rejects(send(), { code: "rate_limited" });
});

webhookTest("deletes deliveries after 30 days, and everything of deleted endpoints", async (scene) => {
  const { test, organizationId, receiver } = scene;
  const [kept, deleted] = [
    await addEndpoint(test, { organizationId, url: receiver.url }),
    await addEndpoint(test, { organizationId, url: receiver.url }),
  ];
  await addEvents(test, organizationId, 3);
  const worker = anotherWorker(test);
  await worker.deliverDue();
  test.advance(10 * dayMs);
  await addEvents(test, organizationId, 2);
  await worker.deliverDue();
  await deleteEndpoints(test, sql`id = ${deleted.id}`);
  test.advance(20 * dayMs);
  const clean = async () => {
    while (await deleteOldEvents(test.services)) { /* More may be left. */ }
    const [counts] = await test.opened.database.read(
      sql`SELECT (SELECT count(*) FROM webhooks) AS webhooks,
        (SELECT count(*) FROM webhook_deliveries) AS deliveries, (SELECT count(*) FROM webhook_attempts) AS attempts,
        (SELECT count(*) FROM webhook_days) AS days`,
    );
    return counts;
  };
  assert.deepEqual(await clean(), { webhooks: 1, deliveries: 5, attempts: 5, days: 2 });
  test.advance(1);
  assert.deepEqual(await clean(), { webhooks: 1, deliveries: 2, attempts: 2, days: 2 });
  test.advance(10 * dayMs);
  assert.deepEqual(await clean(), { webhooks: 1, deliveries: 0, attempts: 0, days: 1 });
  assert.equal((await stateOf(test, kept)).waiting, 0);
});

webhookTest(
  "gives endpoints that are slow or failing at most half of the requests of a server",
  async ({ test, organizationId, receiver: dead, other: quick }) => {
    // Those of operators, which have no share.
    for (let count = 0; count < 40; count++) await addEndpoint(test, { organizationId: null, url: dead.url });
    await addEvents(test, organizationId, 1);
    dead.respond(() => new Response(null, { status: dead.received.length % 2 === 0 ? 204 : 503 }));
    await anotherWorker(test, { slowMs: -1 }).deliverDue();
    const worker = anotherWorker(test);
    assert.equal(dead.received.splice(0).length, 40);
    await addEvents(test, organizationId, 2);
    const { promise: never, resolve: end } = Promise.withResolvers<Response>();
    dead.respond(() => never);
    const delivering = deliverMeanwhile(worker);
    await poll(() => dead.received.length === 32);
    await addEndpoint(test, { organizationId, url: quick.url });
    await addEvents(test, organizationId, 40);
    const beside = deliverMeanwhile(worker);
    await poll(() => quick.received.length === 40);
    assert.equal(dead.received.length, 32);
    await deleteEndpoints(test, sql`is_slow = 1`);
    end(new Response());
    await Promise.all([delivering, beside]);
  },
);
