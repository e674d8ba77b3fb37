// Random histories of records, backdated records, voids, changes of plans, prices (also by value) and time zones, deleted records and closings, by an
// operator or by the schedule: the closed statements and the open months together are the sum over all records, also while others record
// and void, and while two servers close the same month. A preview equals the statement that is closed next.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { restartLimits, timezoneRows } from "../../../db/meter/usage_limits.ts";
import { sumMicros } from "../../../domain/meter/quantity.ts";
import type { UsageWindow } from "../../../domain/meter/usage_window.ts";
import type { Context, SessionContext } from "../../../services/context.ts";
import { deleteOldUsageRecords } from "../../../services/meter/usage_records.ts";
import { closeDueStatement, closeStatement } from "../../../services/billing/statement_closing.ts";
import { readStatementCsv, statementsFor } from "../../../services/billing/statements.ts";
import { startTestApp, type TestApp } from "../../support/app/app.ts";
import { databaseKinds } from "../../support/database/database.ts";
import { repeats } from "../../support/runner/extent.ts";
import fc from "../../support/runner/fast_check.ts";
import { runHistories } from "../../support/meter/histories.ts";
import { commandLineActor, newOperatorToken } from "../../support/operators/operators.ts";
import { add, microsOf, type Sum, sumsOfMonths, withoutZeros } from "../../support/meter/sums.ts";
import { unlimited } from "../../support/meter/usage.ts";
import {
  assertValues,
  metricWith,
  someValuePrices,
  type StoredRecord,
} from "../../support/meter/value_lines.ts";
import { newKeys, newOrganization, run } from "../../support/people/scene.ts";

const retentionDays = 36;

const aZone = fc.constantFrom(
  "UTC",
  "Asia/Kathmandu",
  "America/New_York",
  "Pacific/Auckland",
  "Pacific/Kiritimati",
  "Pacific/Pago_Pago",
);
const aRecord = fc.record({
  kind: fc.constant("record" as const),
  organization: fc.nat(2),
  isTest: fc.boolean(),
  metric: fc.constantFrom("a", "b"),
  model: fc.constantFrom("large", "small", undefined),
  quantity: fc.constantFrom(0, 0.1, 0.000001, 3, 2 ** 53 - 1),
  at: fc.oneof(
    /** Close to the ends of months or anywhere in the last 400 days. */
    fc.oneof(fc.nat(60), fc.nat(35 * 24), fc.nat(399 * 24)).map((hoursBack) => ({ hoursBack })),
    /** At the end of a month. */
    fc.record({ zone: aZone, months: fc.nat(3), ms: fc.constantFrom(-1, 0) }),
  ),
});
const aVoid = fc.record({ kind: fc.constant("void" as const), which: fc.nat(1000) });
const aPrice = fc.record({
  kind: fc.constant("price" as const),
  price: fc.option(fc.oneof(fc.constantFrom("0.1", "2"), someValuePrices)),
});
const anAct = fc.oneof({ weight: 3, arbitrary: aRecord }, aVoid);
const aClosing = fc.record({
  kind: fc.constant("close" as const),
  timezone: aZone,
  /** Null for an operator, who closes the month as soon as it has ended. */
  day: fc.option(fc.integer({ min: 1, max: 28 })),
  closers: fc.constantFrom(1, 2),
  meanwhile: fc.array(fc.oneof({ weight: 4, arbitrary: anAct }, aPrice), { maxLength: 6 }),
});
const aChange = fc.oneof(
  fc.record({ kind: fc.constant("plan" as const), organization: fc.nat(2), isSmall: fc.boolean() }),
  fc.record({ kind: fc.constant("zone" as const), organization: fc.nat(2), timezone: aZone }),
  aPrice,
  fc.constant({ kind: "retain" as const }),
);
const aHistory = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: anAct },
    { weight: 2, arbitrary: aClosing },
    { weight: 2, arbitrary: aChange },
  ),
  { minLength: 8, maxLength: 28 },
);
type ValueOf<A> = A extends fc.Arbitrary<infer T> ? T : never;
type Act = ValueOf<typeof anAct> | ValueOf<typeof aPrice>;
type Closing = ValueOf<typeof aClosing>;

interface Month extends UsageWindow {
  readonly period: Temporal.PlainYearMonth;
}

const monthStart = (month: Temporal.PlainYearMonth, timezone: string) =>
  month.toPlainDate({ day: 1 }).toZonedDateTime(timezone).epochMilliseconds;
const monthAt = (ms: number, timezone: string) =>
  Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone).toPlainDate().toPlainYearMonth();

/** Three organizations, what happens in them, and what was acknowledged. */
class Stage {
  readonly months: Month[] = [];
  readonly #test: TestApp;
  readonly #customers: { organizationId: string; apiKey: string; testKeyId: string }[] = [];
  readonly #acknowledged = new Map<string, Sum>();
  readonly #acknowledgedOfTests = new Map<string, Sum>();
  /** Of records that were not voided when they were deleted. */
  readonly #deleted: StoredRecord[] = [];
  readonly #voided = new Set<string>();
  #operatorToken = "";

  constructor(test: TestApp) {
    this.#test = test;
  }

  async open(): Promise<void> {
    const test = this.#test;
    this.#operatorToken = (await newOperatorToken(test, ["usage:write", "statements:write"])).fullToken;
    const json = { slug: "p", name: "P", metrics: [metricWith(null)] };
    await test.send("/api/operator/products", { apiKey: this.#operatorToken, json });
    for (const name of ["Ada", "Bob", "Cleo"]) {
      const organizationId = await newOrganization(test, name);
      const [key, testKey] = await newKeys(test, organizationId, 2);
      this.#customers.push({ organizationId, apiKey: key?.fullKey ?? "", testKeyId: testKey?.id ?? "" });
      await run(test, "UPDATE api_keys SET environment = 'test' WHERE id = ?", testKey?.id ?? "");
    }
    await run(test, "UPDATE organizations SET created_at = 0"); // So that any month can be closed.
    await run(
      test,
      `INSERT INTO plans (number, id, name, is_default, api_keys_max, members_max, usage_series_max, created_at)
        VALUES (77, 'plan_small', 'Small', 0, 10, 10, 100, 0)`,
    );
    await run(
      test,
      `INSERT INTO usage_limits (id, plan, product_slug, metric, per, quantity_whole, quantity_micro, mode, created_seq,
        created_at) VALUES ('lim_small', 77, '', 'a', 'month', 5, 0, 'hard', 0, 0)`,
    );
  }

  async act(what: Act): Promise<void> {
    if (what.kind === "price") return await this.change(what);
    await (what.kind === "record" ? this.#record(what) : this.#void(what.which));
  }

  async #record(
    { at, organization, isTest, metric, model, quantity }: Act & { kind: "record" },
  ): Promise<void> {
    const now = this.#test.now();
    const time = "hoursBack" in at
      ? now - at.hoursBack * 3_600_000
      : monthStart(monthAt(now, at.zone).subtract({ months: at.months }), at.zone) + at.ms;
    const timestamp = new Date(Math.min(time, now)).toISOString();
    const { organizationId = "", testKeyId: apiKeyId } = this.#customers[organization] ?? {};
    const target = isTest ? { apiKeyId } : { organizationId };
    const properties = model && { model };
    const json = { records: [{ ...target, productSlug: "p", metric, quantity, timestamp, properties }] };
    const response = await this.#test.send("/api/operator/usage", { apiKey: this.#operatorToken, json });
    const { error } = await response.json();
    if (error?.code === "limit_exceeded" && !isTest) return;
    assert.equal(response.status, 201, JSON.stringify(error));
    const sum = { count: 1, micros: microsOf(quantity) };
    if (isTest) add(this.#acknowledgedOfTests, metric, sum);
    else add(this.#acknowledged, `${organizationId} ${metric}`, sum);
  }

  async #void(which: number): Promise<void> {
    const records = await this.#test.opened.database.read<
      { seq: number; recordedAt: number; organizationId: string; isTest: 0 | 1 }
    >(
      sql`SELECT r.seq, r.recorded_at AS recordedAt, o.id AS organizationId, r.organization < 0 AS isTest
        FROM usage_records r JOIN organizations o ON o.number = abs(r.organization) ORDER BY r.seq`,
    );
    const record = records[which % Math.max(1, records.length)];
    const customer = this.#customers.find(({ organizationId }) => organizationId === record?.organizationId);
    if (record === undefined || customer === undefined) return;
    const { organizationId, apiKey } = customer;
    const id = (await this.#test.services.recorder.recordIds()).of(record);
    const path = `/api/v1/usage/records/${id}/void`;
    const response = await this.#test.send(path, { apiKey, json: { reason: "Test." } });
    const { usageRecord, error } = await response.json();
    assert.equal(response.status, 200, JSON.stringify(error));
    if (this.#voided.has(id)) return;
    this.#voided.add(id);
    const sum = { count: -1, micros: -microsOf(usageRecord.quantity) };
    if (record.isTest) add(this.#acknowledgedOfTests, usageRecord.metric, sum);
    else add(this.#acknowledged, `${organizationId} ${usageRecord.metric}`, sum);
  }

  async change(what: ValueOf<typeof aChange>): Promise<void> {
    const { now, opened: { database }, services } = this.#test;
    if (what.kind === "retain") {
      const before = now() - retentionDays * 24 * 3_600_000;
      this.#deleted.push(...await this.#stored(before));
      while (await deleteOldUsageRecords(services));
      return;
    }
    if (what.kind === "price") {
      const metrics = [metricWith(what.price)];
      const response = await this.#test.send("/api/operator/products/p", {
        ...{ method: "PATCH", apiKey: this.#operatorToken, json: { metrics } },
      });
      assert.equal(response.status, 200, await response.text());
      return;
    }
    const ofOrganization = sql`WHERE id = ${this.#customers[what.organization]?.organizationId ?? ""}`;
    await database.write([
      ...(what.kind === "zone" ? timezoneRows(what.timezone, now()) : []),
      sql`UPDATE organizations SET ${restartLimits(now())}, ${
        what.kind === "zone"
          ? sql`timezone = ${what.timezone}`
          : sql`plan = (SELECT number FROM plans WHERE is_default = ${what.isSmall ? 0 : 1})`
      } ${ofOrganization}`,
    ]);
  }

  /** Closes the next month, after it has ended. Acts begin whenever something was read or written. */
  async close({ timezone, day, closers, meanwhile }: Omit<Closing, "kind">): Promise<void> {
    const test = this.#test;
    const waiting = [...meanwhile];
    const begun: Promise<void>[] = [];
    const then =
      <A extends unknown[], R>(call: (...args: A) => Promise<R>) => async (...args: A): Promise<R> => {
        const result = await call(...args);
        const next = waiting.shift();
        if (next !== undefined) begun.push(this.act(next));
        return result;
      };
    const { services } = test;
    const context = {
      ...services,
      config: { ...services.config, billingTimezone: timezone, statementCloseDay: day ?? undefined },
      writeAs: then(services.writeAs),
      reports: {
        read: then((...args: Parameters<typeof services.reports.read>) => services.reports.read(...args)),
      },
    } as unknown as typeof services;
    const previous = this.months.at(-1);
    const period = previous?.period.add({ months: 1 }) ??
      monthAt(test.now(), timezone).subtract({ months: 1 });
    const next = period.add({ months: 1 });
    const month = {
      period,
      start: previous?.end ?? monthStart(period, timezone),
      end: monthStart(next, timezone),
    };
    const dueAt = day === null ? month.end : Math.max(
      month.end,
      next.toPlainDate({ day }).toZonedDateTime(timezone).epochMilliseconds,
    );
    if (test.now() < dueAt) {
      test.advance(dueAt - 1 - test.now());
      await this.#assertNotDue(context, { period: `${period}`, isScheduled: day !== null });
      test.advance(1);
    }
    const reader = { ...services, config: context.config };
    const preview = meanwhile.length === 0 ? await this.#csvOf(reader, "open") : null;
    const closings = await Promise.allSettled(
      Array.from(
        { length: closers },
        () => day === null ? closeByOperator(context, `${period}`) : closeBySchedule(context),
      ),
    );
    await Promise.all([...begun, ...waiting.map((act) => this.act(act))]);
    const closed = closings.flatMap((closing) => {
      if (closing.status === "rejected") throw closing.reason;
      return closing.value ?? [];
    });
    assert.deepEqual(new Set(closed.map(({ statement }) => statement.status)), new Set(["closed"]));
    assert.equal(new Set(closed.map(({ statement }) => statement.id)).size, 1);
    if (day === null) assert.equal(closed.filter(({ isNew }) => isNew).length, 1);
    this.months.push(month);
    if (preview !== null) assert.deepEqual(await this.#csvOf(reader, `${period}`), preview);
  }

  /** @returns The lines of a statement, which are the same for all organizations together and for each. */
  async #csvOf(context: SessionContext, id: string): Promise<string[]> {
    const ids = [undefined, ...this.#customers.map(({ organizationId }) => organizationId)];
    const [all = [], ...each] = await Promise.all(ids.map(async (organizationId) => {
      const scope = statementsFor(commandLineActor, organizationId);
      const { report } = await readStatementCsv(context, scope, { id, signal: AbortSignal.timeout(60_000) });
      return (await new Response(report).text()).split("\r\n").slice(1, -1).sort();
    }));
    assert.deepEqual(each.flat().sort(), all);
    return all;
  }

  async #assertNotDue(
    context: Context,
    { period, isScheduled }: { period: string; isScheduled: boolean },
  ): Promise<void> {
    if (isScheduled) assert.equal(await closeBySchedule(context), null, `${period} is not due`);
    else await assert.rejects(closeByOperator(context, period), { code: "month_not_ended" });
  }

  /** Compares lines with records, in each month in which nothing waits for the next statement. @returns How many months wait. */
  async check(): Promise<number> {
    const { database } = this.#test.opened;
    const statements = await database.read<{ period: string; start: number; end: number }>(
      sql`SELECT period, start_at AS start, end_at AS "end" FROM statements ORDER BY number`,
    );
    assert.deepEqual(statements, this.months.map((month) => ({ ...month, period: `${month.period}` })));
    const waiting = new Set(
      (await database.read<{ name: string }>(sql`SELECT DISTINCT o.id || ' ' || c.month AS name
        FROM statement_changes c JOIN organizations o ON o.number = c.organization`)).map(({ name }) => name),
    );
    // An adjustment has the price of the newest line for its month.
    assert.deepEqual(
      await database.read(sql`SELECT * FROM statement_lines l JOIN statement_lines e USING
          (organization_id, product_slug, metric)
        WHERE e.statement < l.statement AND e.statement - e.months_back = l.statement - l.months_back
          AND (e.unit_price IS NOT l.unit_price OR e.price_list IS NOT l.price_list)`),
      [],
    );
    const stored = [...this.#deleted, ...await this.#stored(Infinity)];
    await assertValues(database, { waiting, months: this.months, records: stored });
    const [charged, recorded, all] = [new Map<string, Sum>(), new Map<string, Sum>(), new Map<string, Sum>()];
    const lines = await database.read<
      { name: string; metric: string; count: number; high: string; low: string; micro: string }
    >(
      sql`SELECT organization_id || ' ' || (statement - months_back) AS name, metric, count,
        CAST(sum_high AS TEXT) AS high, CAST(sum_low AS TEXT) AS low, CAST(sum_micro AS TEXT) AS micro
        FROM statement_lines`,
    );
    for (const line of lines) {
      if (!waiting.has(line.name)) {
        add(charged, `${line.name} ${line.metric}`, { count: line.count, micros: sumMicros(line) });
      }
    }
    for (const { id, metric, timestamp, micros } of stored) {
      add(all, `${id} ${metric}`, { count: 1, micros });
      const index = this.months.findIndex(({ start, end }) => start <= timestamp && timestamp < end);
      if (index === -1 || waiting.has(`${id} ${index + 1}`)) continue;
      add(recorded, `${id} ${index + 1} ${metric}`, { count: 1, micros });
    }
    assert.deepEqual(withoutZeros(charged), withoutZeros(recorded));
    assert.deepEqual(withoutZeros(all), withoutZeros(this.#acknowledged));
    const tests = withoutZeros(this.#acknowledgedOfTests);
    for (const which of [sql`organization BETWEEN -2147483647 AND -1`, sql`organization = -2147483648`]) {
      assert.deepEqual(withoutZeros(await sumsOfMonths(database, which)), tests);
    }
    return waiting.size;
  }

  /** @returns Records that were recorded before a time and are not voided. */
  async #stored(before: number): Promise<StoredRecord[]> {
    const rows = await this.#test.opened.database.read<
      { id: string; metric: string; model: string; timestamp: number; whole: string; micro: number }
    >(
      sql`SELECT o.id, s.metric, coalesce(r.properties ->> 'model', '(none)') AS model, r.timestamp, CAST(r.quantity_whole AS TEXT) AS whole, r.quantity_micro AS micro
        FROM usage_records r JOIN usage_series s ON s.id = r.series JOIN organizations o ON o.number = r.organization
        WHERE r.seq NOT IN (SELECT seq FROM usage_voids) AND r.recorded_at < ${Math.min(before, 9e15)}`,
    );
    return rows.map(({ whole, micro, ...row }) => ({
      ...row,
      micros: BigInt(whole) * 1_000_000n + BigInt(micro),
    }));
  }

  async lines(): Promise<unknown[]> {
    return await this.#test.opened.database.read(
      sql`SELECT * FROM statement_lines ORDER BY statement, organization_id, months_back, product_slug, metric`,
    );
  }
}

const closeByOperator = (context: SessionContext, period: string) =>
  closeStatement(context, commandLineActor, { period, waitMs: 60_000 });

/** @returns Null if nothing was due, or another server has just closed the statement. */
async function closeBySchedule(context: Context) {
  const statement = await closeDueStatement(context);
  return statement && { statement, isNew: undefined };
}

for (const kind of databaseKinds) {
  Deno.test({
    name: `${kind.name} database: closed and open months are the sum over all records, in any history`,
    ignore: kind.ignore,
    fn: () =>
      runHistories(aHistory, async (history) => {
        const settings = { ...unlimited, USAGE_RETENTION_DAYS: String(retentionDays) };
        const test = await startTestApp(settings, { open: kind.open });
        try {
          const stage = new Stage(test);
          await stage.open();
          for (const step of history) {
            if (step.kind === "record" || step.kind === "void") await stage.act(step);
            else if (step.kind !== "close") await stage.change(step);
            else {
              const before = await stage.lines();
              await stage.close(step);
              assert.deepEqual((await stage.lines()).slice(0, before.length), before);
              await stage.check();
            }
          }
          for (let n = 0; n < 2; n++) {
            await stage.close({ timezone: "UTC", day: null, closers: 1, meanwhile: [] });
          }
          assert.equal(await stage.check(), 0, "changes wait, although nothing has changed");
        } finally {
          await test.dispose();
        }
      }, { rounds: repeats({ quick: 8, full: kind.name === "embedded" ? 12 : 3 }) }),
  });
}
