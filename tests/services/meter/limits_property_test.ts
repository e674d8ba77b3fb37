// Limits, and alerts that count the same, against a model that records one request after the other: random limits, windows, quantities, batches, keys that replace
// others, voids, deleted counters and clocks, across changes of plans and time zones.
import assert from "node:assert/strict";
import { sql, type Statement } from "../../../db/engine/database.ts";
import {
  ahead,
  countedSeq,
  restartLimits,
  timezoneRows,
  windowNumber,
} from "../../../db/meter/usage_limits.ts";
import { hashApiKey } from "../../../domain/keys/api_key.ts";
import { AppError } from "../../../domain/errors.ts";
import { newId } from "../../../domain/id.ts";
import { splitQuantity, sumMicros, type SumParts } from "../../../domain/meter/quantity.ts";
import type { LimitStanding } from "../../../domain/meter/usage_limit.ts";
import { zonedTime } from "../../../domain/time.ts";
import { operatorAccess } from "../../../services/access/access.ts";
import {
  deleteCountersOfRemovedLimits,
  deleteOldCounters,
  refreshTimezones,
} from "../../../services/meter/limit_upkeep.ts";
import { readLimits } from "../../../services/meter/limits.ts";
import { keyAccess } from "../../../services/meter/usage_access.ts";
import { voidUsageRecord } from "../../../services/meter/usage_voids.ts";
import type { TestApp } from "../../support/app/app.ts";
import { checkOwnSums } from "../../support/meter/own_sums.ts";
import { repeats } from "../../support/runner/extent.ts";
import { runHistories } from "../../support/meter/histories.ts";
import {
  hourMs,
  microsOf,
  type Request,
  runArbitrary,
  Scene,
  type Step,
} from "../../support/meter/limit_model.ts";
import { isRemote, onEveryDatabase } from "../../support/meter/usage.ts";
import { newKeys, newOrganization, run } from "../../support/people/scene.ts";
import { commandLineActor } from "../../support/operators/operators.ts";

const standingsOf = (limits: readonly LimitStanding[]) =>
  limits.map(({ limitId, used }) => `${limitId} ${microsOf(used)}`).sort();

/** Returns the outcome of a request: the standings of its limits, or those that it doesn't fit into. */
async function outcomeOf(scene: Scene, request: Request, sent = scene.sent(request)) {
  try {
    const recorded = await scene.test.services.recorder.record(sent);
    return { request, sent, recorded, exceeded: null };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "limit_exceeded") throw error;
    return { request, sent, recorded: null, exceeded: standingsOf(error.limits ?? []) };
  }
}

function note(scene: Scene, { request, sent, recorded }: Awaited<ReturnType<typeof outcomeOf>>): void {
  for (const [index, { productSlug, metric, quantity }] of request.inputs.entries()) {
    const record = recorded?.usageRecord(index);
    if (record === undefined) continue;
    const timestamp = Date.parse(record.timestamp);
    const micros = microsOf(quantity);
    scene.records.push({
      id: record.id,
      request,
      productSlug,
      metric,
      micros,
      timestamp,
      sent,
      isVoided: false,
    });
  }
}

/** Only limits that records don't wait for may be missing, while their counters are completed. */
function assertStandings(scene: Scene, request: Request, limits: readonly LimitStanding[]): void {
  const [found, expected] = [standingsOf(limits), scene.standings(request)];
  const soft = softIds(scene);
  const isMissing = (standing: string) => !found.includes(standing) && soft.has(standing.split(" ")[0] ?? "");
  assert.deepEqual(found, expected.filter((standing) => !isMissing(standing)));
}

function softIds({ limits }: Scene): ReadonlySet<string> {
  return new Set(limits.filter(({ mode }) => mode !== "hard").map(({ id }) => id));
}

const chosen = <T>(list: readonly T[], which: number): T | undefined => list[which % list.length];

const steps: { [T in Step["type"]]: (scene: Scene, step: Step & { type: T }) => Promise<void> } = {
  async record(scene, { request: planned }) {
    const request = scene.planned(planned);
    const expected = scene.exceeded(request);
    const outcome = await outcomeOf(scene, request);
    note(scene, outcome);
    assert.deepEqual(outcome.exceeded ?? [], expected);
    if (outcome.recorded !== null) assertStandings(scene, outcome.request, outcome.recorded.limits);
  },
  async together(scene, { requests: planned, voids }) {
    const requests = planned.map((request) => scene.planned(request));
    const voiding = voids.map((which) => steps.void(scene, { type: "void", which }));
    const outcomes = await Promise.all(requests.map((request) => outcomeOf(scene, request)));
    await Promise.all(voiding);
    const recorded = outcomes.filter((outcome) => outcome.recorded !== null);
    // In some order, each of them fits. Recording needs no other order, because windows only fill.
    for (const outcome of recorded) {
      assert.deepEqual(scene.exceeded(outcome.request), []);
      const limits = outcome.recorded?.limits ?? [];
      const found = limits.map(({ limitId }) => limitId).sort();
      const isMissing = (id: string) => !found.includes(id) && softIds(scene).has(id);
      assert.deepEqual(found, scene.limitIds(outcome.request).filter((id) => !isMissing(id)));
      note(scene, outcome);
    }
    for (const { request, exceeded } of outcomes) {
      // A void may have made room after the request was rejected.
      if (exceeded !== null && voids.length === 0) assert.notDeepEqual(scene.exceeded(request), []);
    }
  },
  async repeat(scene, { which }) {
    const record = chosen(scene.records.filter(({ request }) => request.inputs.length === 1), which);
    if (record === undefined) return;
    const { recorded } = await outcomeOf(scene, record.request, record.sent);
    assert.equal(recorded?.duplicates, 1);
    assertStandings(scene, record.request, recorded.limits);
  },
  async void(scene, { which }) {
    const record = chosen(scene.records, which);
    if (record === undefined) return;
    const { test: { services }, keys: [key] } = scene;
    const client = { address: "127.0.0.1", userAgent: "", requestId: null };
    const { signal } = new AbortController();
    const access = await keyAccess(services, hashApiKey(key?.fullKey ?? ""), client);
    await voidUsageRecord(services, access, { id: record.id, reason: "Wrong.", signal });
    record.isVoided = true;
  },
  advance: (scene, { hours }) => Promise.resolve(scene.test.advance(hours * hourMs)),
  async limit(scene, { owner, productSlug, metric, per, quantity, mode }) {
    const scope = { owner, plan: owner === "plan" ? scene.plan : 0, productSlug, metric, per };
    const value = owner === "organization" ? quantity : quantity ?? 0;
    const { whole = null, micro = null } = value === null ? {} : splitQuantity(value) ?? {};
    const same = scene.limits.find((limit) =>
      Object.entries(scope).every(([name, value]) => limit[name as keyof typeof scope] === value)
    );
    if (same !== undefined && (value === null) === (same.quantity === null)) {
      await run(
        scene.test,
        "DELETE FROM usage_limits WHERE alert_of IS NOT NULL AND id = ?",
        twinId(same.id),
      );
      [same.quantity, same.mode] = [value, mode];
      return await write(scene, [
        sql`UPDATE usage_limits SET quantity_whole = ${whole}, quantity_micro = ${micro}, mode = ${mode} WHERE id = ${same.id}`,
      ]);
    }
    if (same !== undefined) return;
    const id = newId("lim");
    scene.limits.push({ id, ...scope, quantity: value, mode });
    const key = scene.keys[owner === "first" ? 0 : 1];
    const isOf = (...which: (typeof owner)[]) => which.includes(owner) ? 1 : 0;
    await write(scene, [
      sql`INSERT INTO usage_limits (id, plan, organization, lineage, product_slug, metric, per, quantity_whole,
          quantity_micro, mode, created_seq, created_at)
        SELECT ${id}, iif(${isOf("plan")}, ${scene.plans[scene.plan] ?? 0}, NULL),
          iif(${isOf("organization")}, o.number, NULL), iif(${isOf("first", "second")}, k.lineage, NULL),
          ${productSlug}, ${metric}, ${per}, ${whole}, ${micro}, ${mode}, c.seq, ${scene.test.now()}
        FROM usage_cursor c, organizations o, api_keys k
        WHERE o.id = ${scene.organizationId} AND k.id = ${key?.id ?? ""}`,
      insertTwin(id),
    ], owner === "organization");
  },
  async unlimit(scene, { which }) {
    const limit = chosen(scene.limits, which);
    if (limit === undefined) return;
    scene.limits = scene.limits.filter((other) => other !== limit);
    await write(
      scene,
      [sql`DELETE FROM usage_limits WHERE id IN (${limit.id}, ${twinId(limit.id)})`],
      limit.owner === "organization",
    );
  },
  async zone(scene, { timezone }) {
    scene.timezone = timezone;
    await write(scene, [
      ...timezoneRows(timezone, scene.test.now()),
      sql`UPDATE organizations SET timezone = ${timezone} WHERE id = ${scene.organizationId}`,
    ], true);
  },
  async plan(scene) {
    scene.plan = 1 - scene.plan;
    const plan = scene.plans[scene.plan] ?? 0;
    await write(
      scene,
      [sql`UPDATE organizations SET plan = ${plan} WHERE id = ${scene.organizationId}`],
      true,
    );
  },
  async sweep({ test: { services, advance } }, { hours }) {
    advance(hours * hourMs);
    while (await deleteOldCounters(services) || await deleteCountersOfRemovedLimits(services));
    await refreshTimezones(services);
  },
};

/** Steps that change what limits count, without a response that says so. */
const readsAfter: ReadonlySet<Step["type"]> = new Set([
  "together",
  "void",
  "sweep",
  "plan",
  "zone",
  "unlimit",
]);

async function take(scene: Scene, step: Step): Promise<void> {
  await (steps[step.type] as (scene: Scene, step: Step) => Promise<void>)(scene, step);
  const { organizationId, test: { services } } = scene;
  if (!readsAfter.has(step.type)) return;
  const key = scene.records.length % 2 === 0 ? 2 : 1;
  const access = await operatorAccess(services, commandLineActor, organizationId);
  const found = await readLimits(services, access, {
    apiKeyId: scene.keys[key]?.id,
    signal: new AbortController().signal,
  });
  assert.deepEqual(standingsOf(found), scene.standingsOfKey(key));
}

/** Asserts that all known counters are right, also those of earlier windows. */
async function checkCounters(scene: Scene): Promise<void> {
  const { database } = scene.test.opened;
  const of = sql`FROM organizations o JOIN usage_limits l`;
  const expected = new Map<string, bigint>();
  const time = sql`CAST(e.value ->> 'at' AS INTEGER)`;
  const counted = scene.counted();
  const windows = await database.read<{ window: number }>(sql`
    SELECT ${windowNumber(sql`l.per`, time, ahead(sql`o.timezone`, time))} AS window ${of}
    JOIN json_each(${JSON.stringify(counted.map(({ limit, at }) => ({ limit, at })))}) e
      ON l.id = e.value ->> 'limit' WHERE o.id = ${scene.organizationId} ORDER BY e.key`);
  for (const [index, { limit, micros }] of counted.entries()) {
    const name = `${limit} ${windows[index]?.window}`;
    expected.set(name, (expected.get(name) ?? 0n) + micros);
  }
  const counters = await database.read<SumParts & { name: string }>(sql`
    SELECT l.id || ' ' || n.window_number AS name, CAST(n.sum_high AS TEXT) AS high,
      CAST(n.sum_low AS TEXT) AS low, CAST(n.sum_micro AS TEXT) AS micro ${of}
    JOIN usage_limit_counters n ON n.usage_limit = l.number AND n.organization = o.number
    WHERE o.id = ${scene.organizationId} AND n.is_known = 1 AND n.opened_seq >= ${countedSeq}`);
  for (const { name, ...sum } of counters) {
    assert.equal(sumMicros(sum), expected.get(name.replace("twin_", "")) ?? 0n, name);
  }
  await checkOwnSums(database);
}

const twinId = (id: string) => `twin_${id}`;
/** Inserts an alert that counts what a soft limit of an organization or a lineage counts. */
const insertTwin = (id: string) =>
  sql`INSERT INTO usage_limits (id, alert_of, alert_lineage, product_slug, metric, per, quantity_whole, quantity_micro,
      mode, created_seq, created_at)
    SELECT ${twinId(id)}, coalesce(l.organization, o.number), l.lineage, l.product_slug, l.metric, l.per,
      l.quantity_whole, l.quantity_micro, l.mode, l.created_seq, l.created_at
    FROM usage_limits l LEFT JOIN api_keys k ON k.number = l.lineage LEFT JOIN organizations o ON o.id = k.organization_id
    WHERE l.id = ${id} AND l.plan IS NULL AND l.mode = 'soft' AND l.quantity_whole IS NOT NULL`;

/** Asserts that alerts were noted as the soft limits were that count the same, and that limits were cleared only after they were reached. */
async function checkTwins({ test: { opened: { database } } }: Scene): Promise<number> {
  const notices = (id: Statement) =>
    sql`(SELECT json_group_array(json_array(window_number, percent, used, at))
      FROM (SELECT * FROM limit_notices WHERE usage_limit = ${id} ORDER BY window_number, percent))`;
  const counters = (id: Statement) =>
    sql`(SELECT json_group_array(is_known) FROM usage_limit_counters WHERE usage_limit = ${id})`;
  const pairs = await database.read<{ id: string; limit: string; alert: string }>(sql`
    SELECT l.id, ${notices(sql`l.number`)} || ${counters(sql`l.number`)} AS "limit",
      ${notices(sql`a.number`)} || ${counters(sql`a.number`)} AS alert
    FROM usage_limits a JOIN usage_limits l ON a.id = 'twin_' || l.id`);
  for (const { id, limit, alert } of pairs) assert.equal(alert, limit, id);
  const clearedTwice = await database.read(sql`
    SELECT * FROM (SELECT facts, sum(iif(type = 'limit.cleared', -1, 1))
      OVER (PARTITION BY facts ->> '$.limit.id' ORDER BY seq) AS reached
      FROM events WHERE type LIKE 'limit.%' AND facts ->> 'percent' >= 100) WHERE reached < 0`);
  assert.deepEqual(clearedTwice, []);
  return pairs.filter(({ alert }) => !alert.startsWith("[]")).length;
}

async function write(scene: Scene, batch: readonly Statement[], restarts = false): Promise<void> {
  const restart = sql`UPDATE organizations SET ${
    restartLimits(scene.test.now())
  } WHERE id = ${scene.organizationId}`;
  await scene.test.opened.database.write([...batch, ...(restarts ? [restart] : [])]);
}

/** Begins shortly before the clocks of a time zone change, or a month begins. */
async function createScene(
  test: TestApp,
  { timezone, hoursBefore, isBeforeMonth }: { timezone: string; hoursBefore: number; isBeforeMonth: boolean },
) {
  const soon = zonedTime(test.now() + 40 * hourMs, timezone);
  const month = soon.add({ months: 1 }).with({ day: 1 }).startOfDay();
  const { epochMilliseconds: change } = isBeforeMonth ? month : soon.getTimeZoneTransition("next") ?? month;
  test.advance(change - hoursBefore * hourMs - test.now());
  const organizationId = await newOrganization(test, "Northwind Maps");
  const keys = await newKeys(test, organizationId, 3);
  const [first, , successor] = keys;
  const plans = [newId("plan"), newId("plan")];
  const { database } = test.opened;
  await database.write([
    sql`UPDATE api_keys SET lineage = (SELECT k.lineage FROM api_keys k WHERE k.id = ${first?.id ?? ""})
      WHERE id = ${successor?.id ?? ""}`,
    ...plans.map((id) =>
      sql`INSERT INTO plans (id, name, is_default, api_keys_max, members_max, usage_series_max, created_at)
        VALUES (${id}, ${id}, 0, 100, 100, 1000, ${test.now()})`
    ),
    sql`UPDATE organizations SET plan = (SELECT number FROM plans WHERE id = ${plans[0] ?? ""})
      WHERE id = ${organizationId}`,
  ]);
  const numbers = await database.read<{ number: number }>(
    sql`SELECT number FROM plans WHERE id IN (${plans[0] ?? ""}, ${plans[1] ?? ""}) ORDER BY number`,
  );
  const scene = new Scene(test, organizationId, keys, numbers.map(({ number }) => number));
  await steps.zone(scene, { type: "zone", timezone });
  return scene;
}

onEveryDatabase("limits are those of a model that records one request after the other", async (test) => {
  let twins = 0;
  await runHistories(runArbitrary, async ({ limits, steps: taken, ...options }) => {
    const scene = await createScene(test, options);
    for (const step of [...limits, ...taken]) await take(scene, step);
    await checkCounters(scene);
    twins += await checkTwins(scene);
  }, { rounds: repeats({ quick: 20, full: isRemote(test) ? 8 : 100 }), seeds: [899_798_767], test });
  assert.ok(twins > 0, "no alert was noted");
});
