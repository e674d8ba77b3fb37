// Grants over the operators' API: what they add to a limit, in which order they are used, and what is rejected.
import assert from "node:assert/strict";
import { activeGrantsMax, currentUse, grantQuantityMax } from "../../../../domain/meter/usage_grant.ts";
import { recheckSomeLimits } from "../../../../services/meter/limit_rechecks.ts";
import { fetchJson } from "../../../support/app/rows.ts";
import { limitEvents } from "../../../support/meter/limits.ts";
import { grantScene } from "../../../support/meter/grants.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";
import { assertSent } from "../../../support/operators/operator_api.ts";

const dayMs = 24 * 3_600_000;

onEveryDatabase("grants raise a limit, and are used by expiry", async (test) => {
  const { person, grant, record, standing, grants, day, limit } = await grantScene(test, 10);
  const forever = await grant(5);
  assert.equal(forever.status, 201, JSON.stringify(forever.body));
  const { id, createdAt } = forever.body.grant;
  assert.deepEqual(forever.body.grant, {
    id,
    limitId: limit.id,
    productSlug: null,
    metric: "requests",
    quantity: 5,
    used: 0,
    remaining: 5,
    status: "active",
    startsAt: createdAt,
    expiresAt: null,
    refillId: null,
    every: null,
    reason: "Paid.",
    idempotencyKey: "invoice-1",
    createdAt,
    voidedAt: null,
    voidReason: null,
  });
  await grant(4, { expiresAt: day(5) });
  await grant(3.5, { expiresAt: day(2) });
  assert.equal((await record(22.6)).status, 429);
  // 3.5 of the first to expire, 0.5 of the next.
  const recorded = await record(4);
  assert.deepEqual([recorded.body.limits[0].quantity, recorded.body.limits[0].remaining], [22.5, 18.5]);
  assert.deepEqual(await grants(), [[0, 5, "active"], [0.5, 3.5, "active"], [3.5, 0, "used"]]);
  const { quantity, used, remaining, grants: balance } = await standing();
  assert.deepEqual([quantity, used, remaining], [22.5, 4, 18.5]);
  assert.deepEqual(balance, {
    limitQuantity: 10,
    quantity: 9,
    used: 0.5,
    remaining: 8.5,
    nextExpiresAt: day(5),
  });
  // Without the grant that is used up.
  assert.deepEqual(currentUse({ quantity, used, grants: balance }), { quantity: 19, used: 0.5 });
  // Expiry takes the unused rest, and nothing else.
  test.advance(5 * dayMs);
  assert.deepEqual((await standing()).remaining, 15);
  assert.deepEqual(await grants(), [[0, 5, "active"], [0.5, 0, "expired"], [3.5, 0, "used"]]);
  // Then the limit's own quantity, then grants without an expiry.
  assert.equal((await record(10)).status, 201);
  assert.deepEqual((await grants())[0], [0, 5, "active"]);
  assert.equal((await record(5.000001)).status, 429);
  assert.equal((await record(5)).status, 201);
  assert.deepEqual((await grants())[0], [5, 0, "used"]);
  assert.equal((await record(0.000001)).status, 429);
  const mine = await fetchJson(test, person, "GET /api/portal/grants");
  assert.deepEqual(mine.grants.map(({ used }: { used: number }) => used), [3.5, 0.5, 5]);
  const page = await fetchJson(test, person, "GET /api/portal/grants?limit=2");
  const next = await fetchJson(test, person, `GET /api/portal/grants?limit=2&cursor=${page.nextCursor}`);
  assert.deepEqual(next.grants, [mine.grants[2]]);
});

onEveryDatabase("voiding a grant takes back its unused rest, and is audited", async (test) => {
  const { person, send, path, grant, record, standing, grants } = await grantScene(test);
  const { id } = (await grant(5)).body.grant;
  assert.equal((await record(2)).status, 201);
  const voided = await send(`POST ${path}/${id}/void`, { reason: "Refunded." });
  assert.equal(voided.status, 200, JSON.stringify(voided.body));
  assert.deepEqual([voided.body.grant.status, voided.body.grant.voidReason], ["voided", "Refunded."]);
  assert.deepEqual((await send(`POST ${path}/${id}/void`, { reason: "Again." })).body, voided.body);
  assert.deepEqual(await grants(), [[2, 0, "voided"]]);
  const { quantity, used, remaining } = await standing();
  assert.deepEqual([quantity, used, remaining], [2, 2, 0]);
  assert.equal((await record(1)).status, 429);
  const audit = await fetchJson(test, person, "GET /api/portal/audit");
  const entries = audit.events.filter(({ action }: { action: string }) => action.includes("grant_"));
  assert.deepEqual(
    entries.map(({ action, details }: { action: string; details: object }) => [action, details]),
    [
      ["organization.grant_voided", { reason: "Refunded." }],
      ["organization.grant_added", { quantity: "5", reason: "Paid." }],
    ],
  );
  assert.equal((await send(`POST ${path}/gra_x/void`, { reason: "x" })).status, 404);
  const other = await test.signUp();
  const ofOther = `POST /organizations/${other.organizationId}/grants/${id}/void`;
  assert.equal((await send(ofOther, { reason: "x" })).body.error.code, "not_found");
});

onEveryDatabase("a low balance is one event per grant, and a grant clears a reached limit", async (test) => {
  const { grant, record } = await grantScene(test);
  const recheck = async () => {
    while (await recheckSomeLimits(test.services, { complete: () => Promise.reject(new Error("unknown")) }));
  };
  await grant(100);
  await recheck();
  assert.equal((await record(79)).status, 201);
  assert.deepEqual(await limitEvents(test), []);
  assert.equal((await record(1)).status, 201);
  assert.deepEqual(await limitEvents(test), ["limit.approaching 80"]);
  await grant(80);
  await recheck();
  // 100 are left, 79 of them used: the event comes again.
  assert.equal((await record(79)).status, 201);
  assert.equal((await record(1)).status, 201);
  assert.equal((await record(21)).status, 429);
  assert.equal((await record(20)).status, 201);
  await grant(1);
  await recheck();
  const events = await limitEvents(test);
  assert.deepEqual(events.slice(0, 4), [
    "limit.approaching 80",
    "limit.approaching 80",
    "limit.reached 100 rejected",
    "limit.reached 100",
  ]);
  assert.match(events[4] ?? "", /^limit.cleared/);
  assert.equal(events.length, 5);
  const [reached] = await test.opened.database.read<{ facts: string }>({
    sql: "SELECT facts FROM events WHERE type = 'limit.reached'",
    args: [],
  });
  const { limit, used } = JSON.parse(reached?.facts ?? "{}");
  assert.deepEqual([limit.whole, limit.micro, used.slice(0, 3)], [180, 0, [0, 160, 0]]);
});

onEveryDatabase("a grant covers usage beyond the limit, and outlives a change of limits", async (test) => {
  const { grant, record, standing, grants, send, person } = await grantScene(test, 10);
  assert.equal((await record(8)).status, 201);
  const override = async (quantity: number) => {
    const limits = [{ metric: "requests", per: "total", quantity, productSlug: null }];
    const { status } = await send(`PATCH /organizations/${person.organizationId}`, { overrides: { limits } });
    assert.equal(status, 200);
  };
  await run(test, "UPDATE usage_limits SET quantity_whole = 5");
  await grant(4);
  assert.deepEqual([await grants(), (await standing()).remaining], [[[3, 1, "active"]], 1]);
  // An override takes nothing from a grant before something is recorded, or another grant is given.
  await override(4);
  assert.deepEqual([await grants(), (await standing()).remaining], [[[3, 1, "active"]], 0]);
  const { limitId } = await standing();
  assert.equal((await grant(2)).status, 422, "the plan's limit doesn't apply");
  await grant(2, { limitId });
  assert.deepEqual([await grants(), (await standing()).remaining], [[[4, 0, "used"], [0, 2, "active"]], 2]);
  assert.equal((await record(1)).status, 201);
  assert.deepEqual([await grants(), (await standing()).remaining], [[[4, 0, "used"], [1, 1, "active"]], 1]);
  await override(6);
  assert.equal((await standing()).remaining, 3);
  await run(test, "UPDATE usage_limits SET quantity_whole = 10 WHERE plan IS NOT NULL");
  await send(`PATCH /organizations/${person.organizationId}`, { overrides: { limits: [] } });
  const { quantity, remaining } = await standing();
  assert.deepEqual([quantity, remaining], [16, 7]);
});

onEveryDatabase("rejects grants that can't be given, each with its code", async (test) => {
  const { grant, send, path, limit, record, standing } = await grantScene(test);
  const good = { limitId: limit.id, quantity: 1, reason: "Paid.", idempotencyKey: "invoice" };
  const invalid: readonly (readonly [field: string, ...values: unknown[]])[] = [
    ["limitId", "lim_x", `lim_${"0".repeat(32)}`],
    ["quantity", 0, -1, "1", 0.0000001, grantQuantityMax + 1],
    ["expiresAt", new Date(test.now()).toISOString(), "tomorrow"],
    ["reason", "", "x".repeat(201)],
    ["idempotencyKey", "", null],
    ["more", 1],
  ];
  await assertSent(send, [
    ...invalid.flatMap(([field, ...values]) =>
      values.map((value) =>
        [`POST ${path}`, { ...good, [field]: value }, `422 validation_failed ${field}`] as const
      )
    ),
    ["POST /organizations/org_x/grants", good, "404 not_found"],
  ]);

  // Once for each idempotency key.
  const once = { idempotencyKey: "once", expiresAt: "2030-01-01T00:00:00.000Z" };
  const answers = await Promise.all(Array.from({ length: 5 }, () => grant(7, once)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 200, 201]);
  assert.equal(new Set(answers.map(({ body }) => body.grant.id)).size, 1);
  assert.equal((await record(1)).status, 201);
  assert.equal((await grant(7, once)).body.grant.used, 1);
  const other = [{ quantity: 8 }, { quantity: 7, reason: "Other." }, { quantity: 7, expiresAt: null }];
  await assertSent(
    send,
    other.map((one) =>
      [`POST ${path}`, { ...good, ...once, ...one }, "409 idempotency_conflict idempotencyKey"] as const
    ),
  );
  assert.equal((await grant(grantQuantityMax)).status, 201);
  assert.equal((await record(grantQuantityMax)).status, 201, "one record can use the largest grant");
  for (let at = 1; at < activeGrantsMax; at++) assert.equal((await grant(grantQuantityMax)).status, 201);
  await assertSent(send, [[`POST ${path}`, good, "409 limit_reached"]]);
  assert.equal((await record(2 ** 52)).status, 429);
  assert.equal((await record(grantQuantityMax - 1)).status, 201);
  assert.equal((await standing()).used, 2 * grantQuantityMax);
});
