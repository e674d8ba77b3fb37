// Random histories of records, backdated records, voids and closings: the closed statements and the open months together are the sum
// over all records, also while others record and void, and while two servers close the same month.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import type { OperatorActor } from "../../../domain/actor.ts";
import { sumMicros } from "../../../domain/meter/quantity.ts";
import type { SessionContext } from "../../../services/context.ts";
import { closeStatement, listStatements } from "../../../services/operator/statements.ts";
import { createTestKey, startTestApp, type TestApp, type TestPerson } from "../../support/app.ts";
import { databaseKinds } from "../../support/database.ts";
import fc from "../../support/fast_check.ts";
import { newOperatorToken } from "../../support/operators.ts";
import { unlimited } from "../../support/usage.ts";
import { run } from "../../support/world.ts";

const operator: OperatorActor = {
  type: "operator",
  client: { address: "127.0.0.1", userAgent: "test", requestId: null },
  credential: { kind: "commandLine" },
};

const aRecord = fc.record({
  kind: fc.constant("record" as const),
  organization: fc.nat(2),
  metric: fc.constantFrom("a", "b"),
  quantity: fc.constantFrom(0, 0.1, 0.000001, 3, 2 ** 53 - 1),
  /** Close to the ends of months or anywhere in the last 400 days. */
  hoursBack: fc.oneof(fc.nat(60), fc.nat(35 * 24), fc.nat(399 * 24)),
});
const aVoid = fc.record({ kind: fc.constant("void" as const), which: fc.nat(1000) });
const anAct = fc.oneof({ weight: 3, arbitrary: aRecord }, aVoid);
const aClosing = fc.record({
  kind: fc.constant("close" as const),
  timezone: fc.constantFrom("UTC", "Asia/Kathmandu", "America/New_York", "Pacific/Auckland"),
  closers: fc.constantFrom(1, 2),
  meanwhile: fc.array(anAct, { maxLength: 6 }),
});
const aHistory = fc.array(
  fc.oneof({ weight: 5, arbitrary: anAct }, { weight: 2, arbitrary: aClosing }),
  { minLength: 8, maxLength: 24 },
);
type Act = (typeof anAct) extends fc.Arbitrary<infer T> ? T : never;

/** Three organizations, and how to record and void in them. */
async function stage(test: TestApp) {
  const { fullToken } = await newOperatorToken(test, ["usage:write"]);
  const customers: (TestPerson & { readonly apiKey: string })[] = [];
  for (const name of ["Ada", "Bob", "Cleo"]) {
    const person = await test.signUp(name);
    const key = await createTestKey(test, person);
    await run(test, `UPDATE api_keys SET permissions = '["usage:void"]' WHERE id = ?`, key.id);
    customers.push({ ...person, apiKey: key.fullKey });
  }
  const ids = await test.services.recorder.recordIds();
  async function act(what: Act): Promise<void> {
    if (what.kind === "record") {
      const timestamp = new Date(test.now() - what.hoursBack * 3_600_000).toISOString();
      const { organization, metric, quantity } = what;
      const organizationId = customers[organization]?.organizationId;
      const json = { records: [{ organizationId, productSlug: "p", metric, quantity, timestamp }] };
      const response = await test.send("/api/operator/usage", { apiKey: fullToken, json });
      assert.equal(response.status, 201, await response.text());
      return;
    }
    const records = await test.opened.database.read<
      { seq: number; recordedAt: number; organizationId: string }
    >(
      sql`SELECT r.seq, r.recorded_at AS recordedAt, o.id AS organizationId FROM usage_records r
        JOIN organizations o ON o.number = r.organization ORDER BY r.seq`,
    );
    const record = records[what.which % Math.max(1, records.length)];
    const apiKey = customers.find(({ organizationId }) => organizationId === record?.organizationId)?.apiKey;
    if (record === undefined || apiKey === undefined) return;
    const path = `/api/v1/usage/records/${ids.of(record)}/void`;
    const response = await test.send(path, { apiKey, json: { reason: "Test." } });
    assert.equal(response.status, 200, await response.text());
  }
  return { act };
}

/** Closes the next month, after it has ended. Acts begin whenever something was read or written. */
async function close(
  test: TestApp,
  { timezone, closers, meanwhile }: { timezone: string; closers: number; meanwhile: (() => Promise<void>)[] },
): Promise<void> {
  const { services } = test;
  const begun: Promise<void>[] = [];
  const then =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) => async (...args: A): Promise<R> => {
      const result = await call(...args);
      const next = meanwhile.shift();
      if (next !== undefined) begun.push(next());
      return result;
    };
  const context = {
    ...services,
    config: { ...services.config, billingTimezone: timezone },
    writeAs: then(services.writeAs),
    reports: {
      read: then((...args: Parameters<typeof services.reports.read>) => services.reports.read(...args)),
    },
  } as unknown as SessionContext;
  const { next: { period, end } } = await listStatements(context, { limit: 1 });
  test.advance(Math.max(0, Date.parse(end) - test.now()));
  const closings = await Promise.allSettled(
    Array.from({ length: closers }, () => closeStatement(context, operator, { period, waitMs: 60_000 })),
  );
  await Promise.all([...begun, ...meanwhile.map((act) => act())]);
  const closed = closings.map((closing) => {
    if (closing.status === "rejected") throw closing.reason;
    return closing.value;
  });
  assert.deepEqual(new Set(closed.map(({ statement }) => statement.status)), new Set(["closed"]));
  assert.equal(new Set(closed.map(({ statement }) => statement.id)).size, 1);
  assert.equal(closed.filter(({ isNew }) => isNew).length, 1);
}

interface Sum {
  count: number;
  micros: bigint;
}

function add(sums: Map<string, Sum>, name: string, { count, micros }: Sum): void {
  const sum = sums.get(name) ?? { count: 0, micros: 0n };
  sums.set(name, { count: sum.count + count, micros: sum.micros + micros });
}

function withoutZeros(sums: Map<string, Sum>): [string, Sum][] {
  return [...sums].filter(([, { count, micros }]) => count !== 0 || micros !== 0n).sort(([a], [b]) =>
    a < b ? -1 : 1
  );
}

/** Compares lines with records, in each month in which nothing waits for the next statement. @returns How many months wait. */
async function check({ opened: { database } }: TestApp): Promise<number> {
  const statements = await database.read<{ number: number; start: number; end: number }>(
    sql`SELECT number, start_at AS start, end_at AS "end" FROM statements ORDER BY number`,
  );
  statements.forEach(({ number, start }, index) => {
    assert.equal(number, index + 1);
    if (index > 0) assert.equal(start, statements[index - 1]?.end);
  });
  const waiting = new Set(
    (await database.read<{ name: string }>(sql`SELECT DISTINCT o.id || ' ' || c.month AS name
      FROM statement_changes c JOIN organizations o ON o.number = c.organization`)).map(({ name }) => name),
  );
  const [charged, recorded] = [new Map<string, Sum>(), new Map<string, Sum>()];
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
  const records = await database.read<
    { id: string; metric: string; timestamp: number; whole: string; micro: number }
  >(
    sql`SELECT o.id, s.metric, r.timestamp, CAST(r.quantity_whole AS TEXT) AS whole, r.quantity_micro AS micro
      FROM usage_records r JOIN usage_series s ON s.id = r.series JOIN organizations o ON o.number = r.organization
      WHERE r.seq NOT IN (SELECT seq FROM usage_voids)`,
  );
  for (const { id, metric, timestamp, whole, micro } of records) {
    const month = statements.find(({ start, end }) => start <= timestamp && timestamp < end)?.number;
    if (month === undefined || waiting.has(`${id} ${month}`)) continue;
    add(recorded, `${id} ${month} ${metric}`, {
      count: 1,
      micros: BigInt(whole) * 1_000_000n + BigInt(micro),
    });
  }
  assert.deepEqual(withoutZeros(charged), withoutZeros(recorded));
  return waiting.size;
}

async function closedLines({ opened: { database } }: TestApp): Promise<unknown[]> {
  return await database.read(
    sql`SELECT * FROM statement_lines ORDER BY statement, organization_id, months_back, product_slug, metric`,
  );
}

for (const kind of databaseKinds) {
  Deno.test({
    name:
      `${kind.name} database: closed statements and open months are the sum over all records, in any history`,
    ignore: kind.ignore,
    fn: async () => {
      await fc.assert(
        fc.asyncProperty(aHistory, async (history) => {
          const test = await startTestApp(unlimited, { open: kind.open });
          try {
            const { act } = await stage(test);
            for (const step of history) {
              if (step.kind !== "close") {
                await act(step);
                continue;
              }
              const before = await closedLines(test);
              await close(test, { ...step, meanwhile: step.meanwhile.map((one) => () => act(one)) });
              assert.deepEqual((await closedLines(test)).slice(0, before.length), before);
              await check(test);
            }
            for (let n = 0; n < 2; n++) await close(test, { timezone: "UTC", closers: 1, meanwhile: [] });
            assert.equal(await check(test), 0, "changes wait, although nothing has changed");
          } finally {
            await test.dispose();
          }
        }),
        { seed: 20261122, endOnFailure: true, numRuns: kind.name === "embedded" ? 20 : 6 },
      );
    },
  });
}
