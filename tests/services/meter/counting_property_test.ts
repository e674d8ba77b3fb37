// Random histories of records, late records, rotated keys, voids, new ways of counting, retention and closings: what the API says that
// metrics count for equals what a model counts one by one, and so do closed statements with the open month, also by the values of a
// dimension.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { deleteRemovedDimensions, fillDimensions } from "../../../services/meter/dimensions.ts";
import { deleteOldUsageRecords } from "../../../services/meter/usage_records.ts";
import { createTestKey, startTestApp, type TestApp, type TestPerson } from "../../support/app/app.ts";
import { databaseKinds } from "../../support/database/database.ts";
import {
  type Act,
  aHistory,
  counted,
  examples,
  hourMs,
  type Key,
  type Known,
  metrics,
  product,
  split,
  timeOf,
  users,
  valueOf,
} from "../../support/meter/counting_model.ts";
import { runHistories } from "../../support/meter/histories.ts";
import { asBilling, microsOf } from "../../support/meter/statements.ts";
import {
  fromMillionths,
  millionths,
  type ReadSum,
  recordOne,
  unlimited,
  voidOne,
} from "../../support/meter/usage.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { asOperator } from "../../support/operators/operator_api.ts";
import { run } from "../../support/people/scene.ts";
import { repeats } from "../../support/runner/extent.ts";

class Stage {
  readonly test: TestApp;
  readonly people: TestPerson[] = [];
  readonly keys: Key[] = [];
  /** Records that count. */
  records: Known[] = [];
  /** True once retention has deleted records, so that extremes may become unknown. */
  hasDeleted = false;
  closed = 0;
  billing!: Awaited<ReturnType<typeof asBilling>>;
  read!: ReturnType<typeof asOperator>;
  #order = 0;

  constructor(test: TestApp) {
    this.test = test;
  }

  async open(isDeclaredLater: boolean) {
    const { test } = this;
    this.billing = await asBilling(test);
    this.read = asOperator(test, (await newOperatorToken(test, ["usage:read"])).fullToken);
    const json = { slug: "p", name: "P", ...product(!isDeclaredLater) };
    assert.equal((await this.billing.send("POST /products", json)).status, 201);
    for (const name of ["Ada", "Bob"]) this.people.push(await test.signUp(name));
    for (const [organization, isTest] of [[0, false], [0, false], [0, true], [1, false]] as const) {
      const key = await createTestKey(test, this.people[organization]!);
      if (isTest) await run(test, "UPDATE api_keys SET environment = 'test' WHERE id = ?", key.id);
      this.keys.push({ organization, isTest, ...key });
    }
  }

  async act(act: Act): Promise<void> {
    const { test } = this;
    if (act.kind === "record") return await this.#record(act);
    if (act.kind === "wait") return void test.advance(act.hours * hourMs);
    if (act.kind === "void") {
      const record = this.records[act.which % Math.max(1, this.records.length)];
      if (record === undefined || record.recordedAt < test.now() - 30 * 24 * hourMs) return;
      const key = this.keys.find(({ organization, isTest }) =>
        organization === record.organization && isTest === record.isTest
      );
      await voidOne(test, { apiKey: key?.fullKey ?? "", id: record.id });
      this.records = this.records.filter(({ id }) => id !== record.id);
    } else if (act.kind === "rotate") {
      const key = this.keys[act.key]!;
      const { cookie } = this.people[key.organization]!;
      const response = await test.send(`/api/portal/api-keys/${key.id}/rotate`, { cookie, json: {} });
      // The session has expired.
      if (response.status === 401) return;
      assert.equal(response.status, 201, await response.clone().text());
      const { apiKey, fullKey } = await response.json();
      [key.id, key.fullKey] = [apiKey.id, fullKey];
    } else if (act.kind === "close") await this.close();
    else if (act.kind === "retain") {
      const stored = await this.#stored();
      while (await deleteOldUsageRecords(test.services));
      this.hasDeleted ||= await this.#stored() < stored;
    } else {
      // Sums again, and then as before, while some of it is filled; unless a month is closed, or records are missing.
      if (this.closed > 0 || this.hasDeleted) return;
      assert.equal((await this.billing.send("PATCH /products/p", product(false))).status, 200);
      for (let n = 0; n < act.steps; n++) await fillDimensions(test.services, { recordsMax: 3, restMs: 0 });
      await this.declare();
      for (let n = 0; n < act.steps; n++) await fillDimensions(test.services, { recordsMax: 3, restMs: 0 });
    }
  }

  async #stored(): Promise<number> {
    const [row] = await this.test.opened.database.read<{ n: number }>(
      sql`SELECT count(*) AS n FROM usage_records`,
    );
    return row?.n ?? 0;
  }

  async declare() {
    const { status, body } = await this.billing.send("PATCH /products/p", product(true));
    assert.equal(status, 200, JSON.stringify(body));
  }

  async #record({ key: index, metric, quantity, user, ...when }: Act & { kind: "record" }) {
    const { test } = this;
    const key = this.keys[index]!;
    const timestamp = new Date(timeOf(when, test.now())).toISOString();
    const properties = user === null ? {} : { properties: { user } };
    const { id } = await recordOne(test, key.fullKey, {
      productSlug: "p",
      metric,
      quantity,
      timestamp,
      ...properties,
    });
    this.records.push({
      id,
      order: this.#order++,
      organization: key.organization,
      isTest: key.isTest,
      lineage: index,
      apiKeyId: key.id,
      metric,
      micros: millionths(quantity),
      user,
      time: Date.parse(timestamp),
      recordedAt: test.now(),
    });
  }

  async close() {
    await this.fill();
    const { body } = await this.billing.send("GET /statements?limit=1");
    const { period } = body.next;
    const { status, body: closed } = await this.billing.send("POST /statements", { period });
    if (status === 409 || status === 422) return;
    assert.equal(status, 201, JSON.stringify(closed));
    this.closed++;
  }

  async fill() {
    while (await fillDimensions(this.test.services, { recordsMax: 4, restMs: 0 }));
    while (await deleteRemovedDimensions(this.test.services));
  }

  /** Checks a query with a key. */
  async checkKey(
    key: Key,
    { window, timezone, groupBy, merge }: Record<"window" | "timezone" | "groupBy" | "merge", string>,
  ) {
    const from = this.test.now() - 40 * 24 * hourMs;
    const own = this.records.filter((one) =>
      one.organization === key.organization && one.isTest === key.isTest &&
      one.time >= Math.floor(from / 900_000) * 900_000 && (groupBy !== "key alone" || one.apiKeyId === key.id)
    );
    const query = new URLSearchParams({
      window,
      timezone,
      mergeRotations: merge,
      from: new Date(from).toISOString(),
      to: new Date(this.test.now() + hourMs).toISOString(),
      groupBy: groupBy === "apiKey" ? "metric,apiKey" : "metric",
      ...groupBy === "key alone" && { apiKey: key.id },
    });
    const response = await this.test.send(`/api/v1/usage?${query}`, { apiKey: key.fullKey });
    assert.equal(response.status, 200, await response.clone().text());
    const data: (ReadSum & { aggregation?: string; value?: number | null })[] = (await response.json()).data;
    const isByKey = groupBy === "apiKey";
    const found = data.map(({ start, end, metric = "", apiKey, aggregation = "sum", value, sum, count }) => {
      const records = own.filter((one) =>
        one.metric === metric && one.time >= Date.parse(start) && one.time < Date.parse(end) &&
        (!isByKey || (merge === "true" ? this.keys[one.lineage]?.id : one.apiKeyId) === apiKey)
      );
      assert.equal(count, records.length);
      assert.equal(aggregation, counted[metric]);
      if (aggregation === "sum") return [value, undefined];
      if (value === null) {
        assert.ok(this.hasDeleted, `${metric} is unknown`);
        return [];
      }
      assert.notEqual(sum, undefined);
      return [value, fromMillionths(valueOf(records, { isByKey: isByKey && merge === "false" }))];
    });
    for (const [index, [value, expected]] of found.entries()) {
      assert.equal(value, expected, `${query}\n${JSON.stringify(data[index])}`);
    }
    assert.equal(data.reduce((sum, { count }) => sum + count, 0), own.length);
  }

  /** Checks what all organizations have, added up. */
  async checkAll(timezone: string) {
    const to = new Date(this.test.now() + hourMs).toISOString();
    const { status, body } = await this.read(
      `GET /usage?window=total&timezone=${timezone}&from=2026-01-01&to=${to}&groupBy=metric`,
    );
    assert.equal(status, 200, JSON.stringify(body));
    for (const { metric, value, aggregation = "sum" } of body.data) {
      if (aggregation === "sum" || value === null) continue;
      const parts = [0, 1].map((n) =>
        this.records.filter((one) => one.organization === n && !one.isTest && one.metric === metric)
      );
      assert.equal(value, fromMillionths(valueOf(parts[0]!) + valueOf(parts[1]!)), metric);
    }
  }

  /** Checks that all statements and the open month together charge what each month counts for. */
  async checkStatements() {
    const { send } = this.billing;
    const { body: { statements, open } } = await send("GET /statements?limit=100");
    const charged = new Map<string, bigint>();
    const byUser = new Map<string, bigint>();
    const all = [...open, ...statements];
    const closed = new Set(statements.map(({ period }: { period: string }) => period));
    const corrected = new Set<string>();
    for (const { id, period } of all) {
      const { status, body } = await send(`GET /statements/${id}?limit=100`);
      assert.equal(status, 200, JSON.stringify(body));
      for (const line of body.lines) {
        assert.equal(line.aggregation, counted[line.metric]);
        const name = `${line.organizationId} ${line.adjustmentOf ?? period} ${line.metric}`;
        if (!closed.has(period)) corrected.add(name);
        charged.set(name, (charged.get(name) ?? 0n) + microsOf(line.quantity));
        for (const { properties: { user }, quantity } of line.dimensions[0]?.values ?? []) {
          const ofUser = `${name} ${JSON.stringify(user)}`;
          byUser.set(ofUser, (byUser.get(ofUser) ?? 0n) + microsOf(quantity));
        }
      }
    }
    for (const { period, start, end } of all) {
      for (const [organization, { organizationId }] of this.people.entries()) {
        for (const metric of metrics) {
          const records = this.records.filter((one) =>
            one.organization === organization && !one.isTest && one.metric === metric &&
            one.time >= Date.parse(start) && one.time < Date.parse(end)
          );
          const name = `${organizationId} ${period} ${metric}`;
          if (this.hasDeleted && counted[metric] !== "sum" && counted[metric] !== "count") continue;
          assert.equal(charged.get(name) ?? 0n, valueOf(records), name);
          const wrong = !split.includes(metric) ? [] : users.map((user) => {
            const own = records.filter((one) => (one.user ?? "(none)") === user);
            return [user, valueOf(own) - (byUser.get(`${name} ${JSON.stringify(user)}`) ?? 0n)] as const;
          }).filter(([, micros]) => micros !== 0n);
          // Changes that cancel out have no line until the sum changes: see decision 91.
          const isUnchanged = closed.has(period) && !corrected.has(name);
          const rest = wrong.reduce((sum, [, micros]) => sum + micros, 0n);
          assert.ok(wrong.length === 0 || (isUnchanged && rest === 0n), `${name} ${wrong}`);
        }
      }
    }
  }
}

for (const kind of databaseKinds) {
  Deno.test({
    name: `${kind.name} database: counts metrics as a model does, in the API and in statements`,
    ignore: kind.ignore,
    fn: async () => {
      await runHistories(aHistory, async ({ acts, isDeclaredLater, timezone }) => {
        const settings = {
          ...unlimited,
          BILLING_TIMEZONE: timezone,
          SESSION_MAX_DAYS: "365",
          USAGE_RETENTION_DAYS: "36",
        };
        const test = await startTestApp(settings, { open: kind.open });
        try {
          const stage = new Stage(test);
          await stage.open(isDeclaredLater);
          for (const [index, act] of acts.entries()) {
            if (isDeclaredLater && index === Math.floor(acts.length / 2) && stage.closed === 0) {
              await stage.declare();
            }
            // What isn't declared is a sum, and a closed month of it stays one.
            if (isDeclaredLater && index < acts.length / 2 && act.kind === "close") continue;
            await stage.act(act);
          }
          await stage.fill();
          for (const key of [stage.keys[0]!, stage.keys[2]!, stage.keys[3]!]) {
            for (const window of ["total", "month", "day"]) {
              for (
                const [groupBy, merge] of [["", "false"], ["apiKey", "true"], ["apiKey", "false"], [
                  "key alone",
                  "false",
                ]] as const
              ) {
                await stage.checkKey(key, { window, timezone, groupBy, merge });
              }
            }
          }
          await stage.checkAll(timezone);
          await stage.checkStatements();
        } finally {
          await test.dispose();
        }
      }, { rounds: repeats({ quick: 3, full: kind.name === "embedded" ? 6 : 2 }), examples });
    },
  });
}
