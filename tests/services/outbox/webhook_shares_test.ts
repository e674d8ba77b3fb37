// What one account can take of the places for webhooks: its endpoints may hold requests for as long as they like.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { newId } from "../../../domain/id.ts";
import { poll } from "../../support/runner/poll.ts";
import { assertError, type TestApp } from "../../support/app/app.ts";
import {
  addEndpoint,
  addEvents,
  anotherWorker,
  deleteEndpoints,
  deliverMeanwhile,
  type WebhookScene,
  webhookTest,
} from "../../support/webhooks/endpoints.ts";

/** Writes organizations with endpoints that respond quickly so far, and an event for each of them. */
async function addOrganizations(
  test: TestApp,
  { url, organizations, endpoints }: { url: string; organizations: number; endpoints: number },
): Promise<void> {
  for (let count = 0; count < organizations; count++) {
    const id = newId("org");
    await test.opened.database.write([
      sql`INSERT INTO organizations (id, name, created_at) VALUES (${id}, 'Greedy', ${test.now()})`,
    ]);
    for (let endpoint = 0; endpoint < endpoints; endpoint++) {
      await addEndpoint(test, { organizationId: id, url });
    }
    await addEvents(test, id, 4);
  }
}

/** Lets a receiver hold all requests until the returned function is called. */
function hold(receiver: WebhookScene["receiver"]): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  receiver.respond(() => promise.then(() => new Response()));
  return resolve;
}

webhookTest(
  "requests that are slow now take no place from others, wherever their endpoints were before",
  async ({ test, organizationId, receiver: held, other: quick }) => {
    const release = hold(held);
    await addOrganizations(test, { url: held.url, organizations: 20, endpoints: 4 });
    const worker = anotherWorker(test, { slowMs: 20 });
    const stopping = new AbortController();
    const running = worker.run(stopping.signal);
    await poll(() => held.received.length >= 64);
    await addEndpoint(test, { organizationId, url: quick.url });
    const ids = await addEvents(test, organizationId, 1);
    worker.wake();
    await poll(() => quick.received.length === 1);
    assert.deepEqual(quick.received.map(({ id }) => id), ids);
    await deleteEndpoints(test, sql`url = ${held.url}`);
    release();
    stopping.abort();
    await running;
  },
);

webhookTest(
  "an organization has four requests at a time and one turn, however many endpoints it has",
  async ({ test, organizationId, receiver: held, other: quick }) => {
    const release = hold(held);
    await addOrganizations(test, { url: held.url, organizations: 15, endpoints: 10 });
    test.advance(1);
    await addEndpoint(test, { organizationId, url: quick.url });
    await addEvents(test, organizationId, 1);
    const delivering = deliverMeanwhile(anotherWorker(test));
    await poll(() => quick.received.length === 1 && held.received.length === 60);
    assert.equal(held.mostAtOnce(), 60);
    await deleteEndpoints(test, sql`url = ${held.url}`);
    release();
    await delivering;
  },
);

webhookTest(
  "serves the endpoints of an organization in turn",
  async ({ test, organizationId, receiver }) => {
    for (let count = 0; count < 6; count++) {
      await addEndpoint(test, { organizationId, url: receiver.url });
    }
    const [first] = await addEvents(test, organizationId, 5);
    const release = hold(receiver);
    const delivering = deliverMeanwhile(anotherWorker(test));
    await poll(() => receiver.received.length === 4);
    assert.deepEqual(receiver.received.map(({ id }) => id), Array(4).fill(first));
    release();
    await delivering;
    assert.equal(receiver.received.length, 30);
    assert.equal(receiver.mostAtOnce(), 4);
  },
);

webhookTest(
  "an endpoint begins among the slow, and leaves after five quick responses in a row",
  async ({ test, organizationId, cookie, receiver }) => {
    const json = { url: receiver.url, events: ["organization.*"] };
    const created = await test.send("/api/portal/webhooks", { cookie, json });
    const { webhook } = await created.json();
    const isSlow = async () => {
      const [row] = await test.opened.database.read(sql`SELECT is_slow AS isSlow FROM webhooks`);
      return row?.["isSlow"] === 1;
    };
    assert.ok(await isSlow());
    const deliver = async (slowMs = 60_000) => {
      await addEvents(test, organizationId);
      await anotherWorker(test, { slowMs }).deliverDue();
      return await isSlow();
    };
    const quick5 = [];
    for (let count = 0; count < 5; count++) quick5.push(await deliver());
    assert.deepEqual(quick5, [true, true, true, true, false]);
    assert.equal(await deliver(-1), true);
    assert.deepEqual([await deliver(), await deliver(), await deliver(-1)], [true, true, true]);
    for (let count = 0; count < 4; count++) assert.ok(await deliver());
    assert.equal(await deliver(), false);
    // Another address has to show what it is like.
    const path = `/api/portal/webhooks/${webhook.id}`;
    const changed = await test.send(path, { method: "PATCH", cookie, json: { url: `${receiver.url}/2` } });
    assert.equal(changed.status, 200);
    assert.ok(await isSlow());
  },
);

webhookTest(
  "one person's tests take two places, in however many organizations",
  async ({ test, cookie, organizationId, receiver: held, other: quick }) => {
    const release = hold(held);
    const send = (cookie: string, id: string) =>
      test.send(`/api/portal/webhooks/${id}/test`, { cookie, json: {} });
    const { id } = await addEndpoint(test, { organizationId, url: held.url });
    const { id: second } = await addEndpoint(test, { organizationId, url: held.url });
    const tests = [send(cookie, id), send(cookie, id)];
    await poll(() => held.received.length === 2);
    await assertError(await send(cookie, second), 503, "unavailable");
    const stranger = await test.signUp("Grace Hopper");
    const { id: own } = await addEndpoint(test, { organizationId: stranger.organizationId, url: quick.url });
    assert.equal((await send(stranger.cookie, own)).status, 200);
    release();
    for (const response of await Promise.all(tests)) assert.equal(response.status, 200);
    assert.equal((await send(cookie, second)).status, 200);
  },
);
