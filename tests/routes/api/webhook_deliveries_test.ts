// Deliveries of webhook endpoints over the API: lists, single ones, replays and tests.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { newId } from "../../../domain/id.ts";
import {
  webhookReplayedPerHourMax,
  webhookReplaysPerMinuteMax,
  webhookTestsPerMinuteMax,
} from "../../../domain/outbox/webhook_limits.ts";
import { eventBody } from "../../../domain/outbox/event.ts";
import { deliveryStatuses } from "../../../domain/outbox/delivery.ts";
import { eventTypesFor } from "../../../domain/outbox/event_types.ts";
import { atMost, oneOf } from "../../../routes/schemas/messages.ts";
import type { EventRow } from "../../../db/outbox/events.ts";
import { assertError, type TestApp, testApp } from "../../support/app/app.ts";
import { listAudit } from "../../support/app/audit.ts";
import { onBothDatabases, onEveryDatabase } from "../../support/meter/usage.ts";
import { assertRows, type Row } from "../../support/app/rows.ts";
import { operatorOf } from "../../support/operators/operator_api.ts";
import { verifiedPerson } from "../../support/people/people.ts";
import { run } from "../../support/people/scene.ts";
import { onlyForOperators } from "../../../services/outbox/webhook_owner.ts";
import { createTestWebhook } from "../../support/webhooks/webhooks.ts";
import { addDeliveries, attemptsAt, type NewDelivery } from "../../support/webhooks/deliveries.ts";

const hourMs = 3_600_000;
const ok = { code: null, responseStatus: 204 } as const;
const failed = { code: "status", responseStatus: 503 } as const;

async function startScene(test: TestApp, deliveries: (now: number) => readonly NewDelivery[]) {
  const { cookie, organizationId } = await verifiedPerson(test);
  const json = { url: "https://1.1.1.1/hooks", events: ["*"], description: "Billing" };
  const { webhook } = await (await test.send("/api/portal/webhooks", { cookie, json })).json();
  const path = `/api/portal/webhooks/${webhook.id}`;
  const ids = await addDeliveries(test.opened.database, webhook.id, deliveries(test.now()));
  const send = (rest: string, json?: unknown) =>
    test.send(path + rest, { cookie, ...(json === undefined ? {} : { method: "POST", json }) });
  const list = async (query = "") => (await (await send(`/deliveries${query}`)).json());
  return { cookie, organizationId, webhookId: webhook.id as string, path, ids, send, list };
}

/** One delivery an hour, the newest last. */
const mixed = (now: number): NewDelivery[] => {
  const at = (hours: number) => now - hours * hourMs;
  return [
    { type: "api_key.created", status: "delivered", createdAt: at(6), attempts: attemptsAt([at(6)], ok) },
    {
      type: "limit.reached",
      status: "failed",
      createdAt: at(5),
      attempts: attemptsAt([at(5), at(4)], failed),
    },
    { type: "limit.reached", status: "held", createdAt: at(4) },
    {
      ...{ type: "api_key.created", status: "waiting", createdAt: at(3), dueAt: now + hourMs },
      attempts: attemptsAt([at(3)], failed),
    },
    {
      ...{ type: "limit.reached", status: "failed", isTest: true, createdAt: at(2) },
      attempts: attemptsAt([at(2)], failed),
    },
    { type: "limit.reached", status: "waiting", createdAt: at(1), dueAt: now + 60_000, isLeased: true },
  ];
};

onEveryDatabase("lists deliveries newest first, by status, type and time, in pages", async (test) => {
  const { ids, list, send, organizationId } = await startScene(test, mixed);
  const at = (index: number) => new Date(test.now() - (6 - index) * hourMs).toISOString();
  const [delivered, failedOne = "", held, waiting, testOne, leased] = ids;
  for (
    const [query, expected] of [
      ["", [leased, testOne, waiting, held, failedOne, delivered]],
      ["?status=failed", [testOne, failedOne]],
      ["?type=limit.reached", [leased, testOne, held, failedOne]],
      ["?type=limit.reached&status=held", [held]],
      ["?type=member.added", []],
      [`?from=${at(2)}&to=${at(4)}`, [waiting, held]],
    ] as const
  ) {
    const { deliveries, nextCursor } = await list(query);
    assert.deepEqual(deliveries.map(({ id }: { id: string }) => id), expected, query);
    assert.equal(nextCursor, null, query);
  }
  const paged: string[] = [];
  let cursor = "";
  do {
    const { deliveries, nextCursor } = await list(`?limit=2${cursor}`);
    paged.push(...deliveries.map(({ id }: { id: string }) => id));
    cursor = nextCursor === null ? "" : `&cursor=${nextCursor}`;
  } while (cursor !== "");
  assert.deepEqual(paged, ids.toReversed());
  assert.deepEqual((await list(`?cursor=${newId("dlv")}`)).deliveries, []);

  const [row] = await test.opened.database.read<EventRow>(
    sql`SELECT e.* FROM events e JOIN webhook_deliveries d ON d.event = e.seq WHERE d.id = ${failedOne}`,
  );
  assert.ok(row);
  const { delivery } = await (await send(`/deliveries/${failedOne}`)).json();
  const attempt = { durationMs: delivery.attempts[0].durationMs, code: "status" };
  assert.deepEqual(delivery, {
    ...{ id: failedOne, eventId: row.id, type: "limit.reached", status: "failed", attemptCount: 2 },
    ...{ nextAttemptAt: null, code: "status", responseStatus: 503, createdAt: at(1), endedAt: null },
    payload: JSON.parse(eventBody(row, { isForOperators: false })),
    attempts: [{ at: at(2), ...attempt, responseStatus: 503 }, {
      at: at(1),
      ...attempt,
      responseStatus: 500,
    }],
  });
  assert.equal(delivery.payload.data.organization.id, organizationId);
});

onBothDatabases("replays failed and held deliveries from the first attempt, as their event", async (test) => {
  const { cookie, ids, list, send } = await startScene(test, mixed);
  const before = await list();
  const from = new Date(test.now() - 24 * hourMs).toISOString();
  const replayed = async (json: unknown) => {
    const response = await send("/replay", json);
    assert.equal(response.status, 202);
    return (await response.json()).replayed;
  };
  assert.equal(await replayed({ from }), 2);
  const reset = {
    ...{ status: "waiting", attemptCount: 0, nextAttemptAt: new Date(test.now()).toISOString() },
    ...{ code: null, responseStatus: null, endedAt: null },
  };
  const after = before.deliveries.map((old: { id: string }) =>
    [ids[1], ids[2]].includes(old.id) ? { ...old, ...reset } : old
  );
  assert.deepEqual((await list()).deliveries, after);
  const [audited] = (await listAudit(test, cookie, "?action=webhook.replayed")).events;
  assert.deepEqual([audited?.target?.name, audited?.details], ["Billing", { deliveries: "2" }]);
  // Those that wait or are being sent are not sent twice.
  assert.equal(await replayed({ from, status: "all" }), 1);
  // One that waits for its next attempt is sent now if it is named.
  assert.equal(await replayed({ deliveryIds: ids }), 2);
  const [turn] = await test.opened.database.read(sql`SELECT turn_at AS at FROM webhooks`);
  assert.equal(turn?.["at"], test.now());
  assert.equal(await replayed({ deliveryIds: [ids[0], ids[0]] }), 0);
  assert.equal((await listAudit(test, cookie, "?action=webhook.replayed")).events.length, 3);
});

testApp("replays no more than may wait for an endpoint, the oldest first", async (test) => {
  const { send, list, webhookId, ids } = await startScene(test, mixed);
  await run(test, "UPDATE webhooks SET waiting = 9999 WHERE id = ?", webhookId);
  assert.deepEqual(await (await send("/replay", { from: "2026-01-01" })).json(), { replayed: 1 });
  assert.deepEqual(await (await send("/replay", { from: "2026-01-01" })).json(), { replayed: 0 });
  assert.equal((await list("?status=held")).deliveries.length, 1);
  // One that waits already needs no room.
  assert.deepEqual(await (await send("/replay", { deliveryIds: ids.slice(2, 4) })).json(), { replayed: 1 });
});

testApp("limits replays of an organization, and those of tests as tests", async (test) => {
  const { path, cookie, ids, organizationId } = await startScene(test, mixed);
  const { webhookTests, webhookReplayed } = test.services.rateLimits;
  const replay = (
    id: string | undefined,
    outcome: string,
  ): Row => ["POST /replay", { deliveryIds: [id] }, outcome];
  for (let taken = 0; taken < webhookTestsPerMinuteMax; taken++) webhookTests.take(organizationId);
  const by = { cookie, at: path };
  await assertRows(test, by, [
    replay(ids[4], "429 rate_limited"),
    ...Array<Row>(webhookReplaysPerMinuteMax - 1).fill(replay(ids[1], "202")),
    replay(ids[1], "429 rate_limited"),
  ]);
  test.advance(60_000);
  const { remaining } = webhookReplayed.takeMany(organizationId, webhookReplayedPerHourMax - 1);
  assert.equal(remaining, 0);
  await assertRows(test, by, [replay(ids[2], "429 rate_limited")]);
});

testApp("rejects replays of a disabled endpoint, and invalid input, with the field", async (test) => {
  const { send, list, ids, path, cookie } = await startScene(test, mixed);
  const other = newId("dlv");
  for (
    const [rest, json, field, message] of [
      ["/replay", {}, "from", "is required, unless “deliveryIds” is given."],
      ["/replay", { deliveryIds: [] }, "deliveryIds", "must have at least one id."],
      ["/replay", { deliveryIds: Array(101).fill(other) }, "deliveryIds", atMost(100, "ids")],
      ["/replay", { deliveryIds: [ids[1], other] }, "deliveryIds[1]", "is not a delivery of this endpoint."],
      [
        "/replay",
        { deliveryIds: [ids[1]], status: "all" },
        "status",
        "can't be combined with “deliveryIds”.",
      ],
      ["/replay", { from: "2026-11-20", to: "2026-11-19" }, "to", "must be after “from”."],
      ["/replay", { from: "2026-11-20", status: "delivered" }, "status", oneOf(["failed", "held", "all"])],
      ["/replay", { from: "yesterday" }, "from", null],
      ["/test", { type: "limit.*" }, "type", oneOf(eventTypesFor({ isForOperators: false }))],
      ["/test", { type: "organization.created" }, "type", null],
      ["/deliveries?type=statement.closed", undefined, "type", null],
      ["/deliveries?status=lost", undefined, "status", oneOf(deliveryStatuses)],
      ["/deliveries?type=limit", undefined, "type", oneOf(eventTypesFor({ isForOperators: false }))],
      ["/deliveries?cursor=1", undefined, "cursor", "must be the “nextCursor” of a previous page."],
      ["/deliveries?from=2026-11-20&to=2026-11-20", undefined, "to", "must be after “from”."],
    ] as const
  ) {
    const { error } = await assertError(await send(rest, json), 422, "validation_failed");
    assert.equal(error.details?.[0]?.path, field, JSON.stringify([rest, json]));
    if (message !== null) assert.equal(error.details?.[0]?.message, message);
  }
  await test.send(path, { method: "PATCH", cookie, json: { enabled: false } });
  await assertError(await send("/replay", { deliveryIds: [ids[1]] }), 409, "webhook_disabled");
  assert.equal((await list("?status=failed")).deliveries.length, 2);
});

testApp("operators reach any delivery, and test endpoints only with events of their kind", async (test) => {
  const { ids, webhookId } = await startScene(test, mixed);
  const send = await operatorOf(test);
  const path = `/webhooks/${webhookId}`;
  const { deliveries } = (await send(`GET ${path}/deliveries?limit=1`)).body;
  assert.equal(deliveries[0].id, ids.at(-1));
  assert.deepEqual((await send(`POST ${path}/replay`, { deliveryIds: [ids[1]] })).body, { replayed: 1 });
  const { status, body } = await send(`POST ${path}/test`, { type: "statement.closed" });
  assert.deepEqual([status, body.error.details[0].message], [422, onlyForOperators]);
  const bob = await verifiedPerson(test, "Bob");
  const own = await createTestWebhook(test, bob);
  // The delivery isn't one of the person's own endpoint.
  await assertRows(test, bob, [
    [`GET /api/portal/webhooks/${own}/deliveries/${ids[0]}`, null, "404 not_found"],
    [
      `POST /api/portal/webhooks/${own}/replay`,
      { deliveryIds: [ids[0]] },
      "422 validation_failed deliveryIds[0]",
    ],
  ]);
});
