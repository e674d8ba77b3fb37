// Deliveries while organizations are deleted, endpoints are switched, and people try to make much work.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { deleteSomeOfDeletedOrganizations } from "../../../services/people/organization_deletion.ts";
import { fanOutEvents } from "../../../db/outbox/deliveries.ts";
import { sendTestEvent } from "../../../services/outbox/test_delivery.ts";
import { webhookLeaseMs, webhookTestsOfServerMax } from "../../../domain/outbox/webhook_limits.ts";
import { deleteOldEvents } from "../../../services/outbox/upkeep.ts";
import { recentAuthenticationMs } from "../../../domain/limits.ts";
import { poll } from "../../support/runner/poll.ts";
import { testApp } from "../../support/app/app.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import {
  addEndpoint,
  addEvents,
  anotherWorker,
  deliverMeanwhile,
  sessionAccess,
  stateOf,
  status,
  statusesOf,
  type TestEndpoint,
  webhookTest,
} from "../../support/webhooks/endpoints.ts";

webhookTest(
  "operators get the events of an organization that was deleted before they were sent",
  async ({ test, organizationId, receiver: operators }) => {
    const endpoint = await addEndpoint(test, { organizationId: null, url: operators.url });
    operators.respond(status(503));
    const ids = await addEvents(test, organizationId, 3);
    const worker = anotherWorker(test, { random: () => 0.5 });
    await worker.deliverDue();
    ids.push(...await addEvents(test, organizationId, 2));
    operators.respond(status(204));
    operators.received.length = 0;
    const { fullToken: apiKey } = await newOperatorToken(test);
    const path = `/api/operator/organizations/${organizationId}`;
    assert.equal((await test.send(path, { method: "DELETE", apiKey })).status, 204);
    while (await deleteSomeOfDeletedOrganizations(test.services)) { /* More may be left. */ }
    const [left] = await test.opened.database.read(sql`SELECT count(*) AS count FROM organizations`);
    assert.equal(left?.["count"], 0);
    test.advance(6_000);
    await worker.deliverDue();
    const types = operators.received.map(({ body }) => JSON.parse(body).type);
    assert.equal(types.filter((type) => type === "organization.deleted").length, 1);
    assert.deepEqual(
      operators.received.map(({ id }) => id).filter((id) => ids.includes(id)).sort(),
      ids.sort(),
    );
    // Without its event, a delivery ends and holds up no other.
    await test.opened.database.write([
      sql`UPDATE webhook_deliveries SET status = 'waiting' WHERE status = 'delivered'`,
      sql`DELETE FROM events`,
    ]);
    await worker.deliverDue();
    assert.deepEqual((await stateOf(test, endpoint)).waiting, 0);
  },
);

webhookTest(
  "tests hold up no deliveries: two at a time of an endpoint, and some of a server",
  async (scene) => {
    const { test, organizationId, receiver: slow, other: quick } = scene;
    const access = await sessionAccess(scene);
    const accessOf = (id: string) => ({
      ...access,
      actor: { ...access.actor, user: { ...access.actor.user, id } },
    });
    const endpoints: TestEndpoint[] = [];
    for (let count = 0; count < 5; count++) {
      endpoints.push(await addEndpoint(test, { organizationId, url: slow.url }));
    }
    const { promise: never, resolve: end } = Promise.withResolvers<Response>();
    slow.respond(() => never);
    const worker = anotherWorker(test);
    const send = (index: number, person = `usr_${index}`) =>
      sendTestEvent({ ...test.services, webhooks: worker }, { access: accessOf(person) }, {
        id: endpoints[index]?.id ?? "",
      });
    const tests = [0, 0, 1, 1, 2, 2].map((index) => send(index));
    await poll(() => slow.received.length === 6);
    await assert.rejects(send(0, "usr_of_another"), { code: "unavailable" });
    tests.push(send(3), send(3));
    await poll(() => slow.received.length === 8);
    const { webhookTestsInProgress } = test.services.rateLimits;
    webhookTestsInProgress.takeMany("all", webhookTestsOfServerMax - 8);
    await assert.rejects(send(4), { code: "unavailable" });
    webhookTestsInProgress.giveBack("all", webhookTestsOfServerMax - 8);
    await addEndpoint(test, { organizationId: null, url: quick.url });
    for (let count = 0; count < 28; count++) {
      await addEndpoint(test, { organizationId: null, url: slow.url });
    }
    await addEvents(test, organizationId, 2);
    const delivering = deliverMeanwhile(worker);
    // All places are left to deliveries.
    await poll(() => slow.received.length === 8 + 56 && quick.received.length === 2);
    end(new Response());
    await Promise.all([...tests, delivering]);
    const audited = await test.opened.database.read(
      sql`SELECT count(*) AS count FROM audit_events WHERE action = 'webhook.tested'`,
    );
    assert.equal(audited[0]?.["count"], 8);
    test.advance(recentAuthenticationMs + 1_000);
    await assert.rejects(send(0), { code: "proof_required" });
  },
);

webhookTest(
  "disabling and enabling an endpoint holds what waited and repeats what was in progress",
  async ({ test, organizationId, receiver }) => {
    const endpoint = await addEndpoint(test, { organizationId, url: receiver.url });
    receiver.respond(status(503));
    await addEvents(test, organizationId, 3);
    const worker = anotherWorker(test, { random: () => 0.5 });
    await worker.deliverDue();
    // The server that sends this one dies.
    await test.opened.database.write([
      sql`UPDATE webhook_deliveries SET is_leased = 1, due_at = ${
        test.now() + webhookLeaseMs
      } WHERE number = 1`,
    ]);
    const { fullToken: apiKey } = await newOperatorToken(test);
    for (const enabled of [false, true]) {
      const path = `/api/operator/webhooks/${endpoint.id}`;
      const response = await test.send(path, { method: "PATCH", apiKey, json: { enabled } });
      assert.equal((await response.json()).webhook.status, enabled ? "enabled" : "disabled");
    }
    receiver.respond(status(204));
    receiver.received.length = 0;
    test.advance(20 * 86_400_000);
    await worker.deliverDue();
    assert.equal(receiver.received.length, 1);
    const statuses = await statusesOf(test, endpoint);
    assert.deepEqual(statuses, ["delivered", "held", "held"]);
    assert.equal((await stateOf(test, endpoint)).waiting, 0);
  },
);

webhookTest("keeps the newest 100 attempts of a delivery", async ({ test, organizationId, receiver }) => {
  await addEndpoint(test, { organizationId, url: receiver.url });
  receiver.respond(status(503));
  await addEvents(test, organizationId);
  const worker = anotherWorker(test, { random: () => 0.5 });
  await worker.deliverDue();
  await test.opened.database.write([
    sql`WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 150)
          INSERT INTO webhook_attempts (delivery, at, duration_ms) SELECT 1, n, 1 FROM n`,
  ]);
  test.advance(5_000);
  await worker.deliverDue();
  const [attempts] = await test.opened.database.read(
    sql`SELECT count(*) AS count, max(at) AS last FROM webhook_attempts`,
  );
  assert.deepEqual(attempts, { count: 100, last: test.now() });
});

webhookTest(
  "after the clock was set back, deliveries wait no longer, and old secrets are erased",
  async ({ test, organizationId, receiver }) => {
    const endpoint = await addEndpoint(test, { organizationId, url: receiver.url });
    await addEvents(test, organizationId, 2);
    receiver.respond(status(503));
    const worker = anotherWorker(test);
    await worker.deliverDue();
    const secrets = sql`SELECT old_secret AS secret, old_secret_until AS until FROM webhooks`;
    const day = 86_400_000;
    await test.opened.database.write([
      sql`UPDATE webhook_deliveries SET due_at = ${test.now() + 40 * day}`,
      sql`UPDATE webhooks SET turn_at = ${test.now() + 40 * day}, old_secret = 'old', old_secret_until = ${
        test.now() + 1
      }`,
    ]);
    test.advance(1);
    assert.equal(await deleteOldEvents(test.services), false);
    assert.deepEqual(await test.opened.database.read(secrets), [{ secret: null, until: null }]);
    receiver.respond(status(204));
    await worker.deliverDue();
    assert.deepEqual(await statusesOf(test, endpoint), [
      "delivered",
      "delivered",
    ]);
  },
);

testApp("a step of deliveries is bounded, however many endpoints and events there are", async (test) => {
  const { organizationId } = await test.signUp();
  for (let count = 0; count < 30; count++) {
    await addEndpoint(test, { organizationId: count < 20 ? null : organizationId, url: "https://1.1.1.1/" });
  }
  await addEvents(test, organizationId, 50);
  await test.opened.database.write(fanOutEvents(test.now()));
  const count = sql`SELECT count(*) AS count FROM webhook_deliveries`;
  // Of 16 events, one is from before the endpoints: that of signing up.
  assert.equal((await test.opened.database.readFirst(count))?.["count"], 450);
});
