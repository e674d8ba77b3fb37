// Exports of records and statements: complete, in an order that later lines never get ahead of, and enough to fill another server.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { microsToDecimal } from "../../../domain/meter/quantity.ts";
import { closeStatement } from "../../../services/billing/statement_closing.ts";
import { exportRecords, exportStatements } from "../../../services/console/exports.ts";
import { startTestApp, type TestApp } from "../../support/app/app.ts";
import { onRealPort } from "../../support/app/real_app.ts";
import { databaseKinds } from "../../support/database/database.ts";
import { runHistories } from "../../support/meter/histories.ts";
import { importFile, setExternalId, writeLines } from "../../support/meter/imports.ts";
import { onEveryDatabase, recordAll, recordOne, unlimited, voidOne } from "../../support/meter/usage.ts";
import { asOperator } from "../../support/operators/operator_api.ts";
import { commandLineActor, newOperatorToken } from "../../support/operators/operators.ts";
import { newKeys, newOrganization } from "../../support/people/scene.ts";
import { repeats } from "../../support/runner/extent.ts";
import fc from "../../support/runner/fast_check.ts";

async function all<T>(pages: AsyncIterable<T[]>): Promise<T[]> {
  return (await Array.fromAsync(pages)).flat();
}

/** Around the changes of clocks in Berlin, and in the last 13 months. */
const aTime = fc.oneof(
  fc.integer({ min: -3_600_000, max: 3_600_000 }).map((ms) => Date.UTC(2026, 9, 25, 1) + ms),
  fc.integer({ min: -3_600_000, max: 3_600_000 }).map((ms) => Date.UTC(2026, 2, 29, 1) + ms),
  fc.integer({ min: 0, max: 390 * 24 * 3_600_000 }).map((ms) => Date.UTC(2026, 10, 21) - ms),
);
const aRecord = fc.record({
  customer: fc.nat(2),
  productSlug: fc.constantFrom("tiles", "search"),
  metric: fc.constantFrom("requests", "bytes"),
  micros: fc.oneof(
    fc.constantFrom(0n, 1n, 9_007_199_254_740_991_000_000n, 9_007_199_254_740_990_000_001n),
    fc.bigInt({ min: 0n, max: 10n ** 17n }),
  ),
  timestamp: aTime.map((ms) => new Date(ms).toISOString()),
  hasKey: fc.boolean(),
  properties: fc.option(fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), fc.stringMatching(/^[ -~é]{0,9}$/), {
    maxKeys: 3,
  })),
});
const aHistory = fc.record({
  records: fc.array(aRecord, { minLength: 1, maxLength: 30 }),
  voids: fc.array(fc.nat(29), { maxLength: 6 }),
});

/** @returns A function that creates three empty organizations with these external ids. */
const newCustomers = (test: TestApp, externalIds: readonly string[]) =>
  Promise.all(externalIds.map(async (externalId, index) => {
    const id = await newOrganization(test, externalId);
    // One has no external id here: its id stands for it in the export.
    if (index < 2) await setExternalId(test, id, externalId);
    return id;
  }));

/** @returns The exact sums of every day in Berlin, product and metric of some organizations, which are named by their index. */
async function sumsOf(test: TestApp, { token, ids }: { token: string; ids: readonly string[] }) {
  const query = `organizationId=${ids}&from=2025-10-01&to=2026-12-01&window=day&timezone=Europe/Berlin`;
  const { status, body } = await asOperator(test, token)(
    `GET /usage.csv?${query}&groupBy=organization,productSlug,metric`,
  );
  assert.equal(status, 200, body);
  return String(body).trimEnd().split("\r\n").slice(1).map((line) => {
    const [start, end, id = "", _name, _externalId, ...sums] = line.split(",");
    return [start, end, ids.indexOf(id), ...sums].join();
  }).sort();
}

for (const kind of databaseKinds) {
  Deno.test({
    name:
      `${kind.name} database: an export imported into another server gives equal sums, and again changes nothing`,
    ignore: kind.ignore,
    fn: async () => {
      const source = await startTestApp(unlimited, { open: kind.open });
      const target = await startTestApp(unlimited, { open: kind.open });
      const folder = await Deno.makeTempDir({ prefix: "gatehouse-export-" });
      const [from, to] = await Promise.all([newOperatorToken(source), newOperatorToken(target)]);
      let histories = 0;
      let since: string | undefined;
      try {
        await onRealPort(target, (url) =>
          runHistories(aHistory, async ({ records, voids }) => {
            const name = `${histories++}`;
            const ids = await newCustomers(source, [`a/${name}`, `b ${name}`, ""]);
            const call = asOperator(source, from.fullToken);
            const sent = await call("POST /usage", {
              records: records.map(({ customer, micros, hasKey, properties, ...record }, index) => ({
                ...record,
                organizationId: ids[customer],
                quantity: microsToDecimal(micros),
                ...(hasKey && { idempotencyKey: `key-${index}` }),
                ...(properties && { properties }),
              })),
            });
            assert.equal(sent.status, 201, JSON.stringify(sent.body));
            const before = await all(exportRecords(source.services, since));
            for (const index of new Set(voids)) {
              const record = before[index];
              if (record !== undefined) {
                await call(`POST /usage/records/${record.id}/void`, { reason: "Twice." });
              }
            }
            const lines = await all(exportRecords(source.services, since));
            assert.equal(lines.length, records.length);
            since = lines.at(-1)?.cursor;
            const file = `${folder}/${name}.ndjson`;
            await writeLines(file, lines);
            const targetIds = await newCustomers(target, [`a/${name}`, `b ${name}`, ids[2] ?? ""]);
            await setExternalId(target, targetIds[2] ?? "", ids[2] ?? "");
            const given = { file, url, token: to.fullToken };
            const { accepted, leftOut } = await importFile(target, given);
            assert.deepEqual([accepted + leftOut, leftOut], [
              records.length,
              lines.filter(({ voidedAt }) => voidedAt !== null).length,
            ]);
            assert.equal((await importFile(target, given)).accepted, 0);
            assert.deepEqual(
              await sumsOf(target, { token: to.fullToken, ids: targetIds }),
              await sumsOf(source, { token: from.fullToken, ids }),
            );
          }, { rounds: repeats({ quick: 2, full: 6 }), test: source }));
      } finally {
        await Promise.all([source.dispose(), target.dispose()]);
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

onEveryDatabase(
  "exports each record once, also if others are recorded, voided and deleted meanwhile",
  async (test) => {
    const { organizationId, fullKey } = await newCustomer(test);
    const gone = await newCustomer(test);
    const tester = await newCustomer(test);
    // A page of the export with nothing but usage of test keys is not its end.
    await test.opened.database.write([
      sql`UPDATE api_keys SET environment = 'test' WHERE organization_id = ${tester.organizationId}`,
    ]);
    for (const quantity of [1, 2]) await recordOne(test, tester.fullKey, { quantity });
    const first = await recordOne(test, fullKey, { quantity: 0.1 });
    await recordOne(test, gone.fullKey);
    const second = await recordOne(test, fullKey, {
      timestamp: "2026-11-01T00:00:00.000Z",
      idempotencyKey: "k",
    });
    await voidOne(test, { apiKey: fullKey, id: second.id, reason: "Twice." });
    await test.opened.database.write([
      sql`UPDATE organizations SET deleted_at = 1 WHERE id = ${gone.organizationId}`,
    ]);
    const exported = await all(exportRecords(test.services));
    const ofTests = exported.filter(({ environment }) => environment === "test");
    assert.deepEqual(ofTests.map(({ organizationId, quantity }) => [organizationId, quantity]), [
      [tester.organizationId, "1"],
      [tester.organizationId, "2"],
    ]);
    const lines = exported.slice(ofTests.length);
    assert.deepEqual(
      lines.map(({ id, cursor, quantity, voidReason }) => [id, cursor, quantity, voidReason]),
      [
        [first.id, first.id, "0.1", null],
        [second.id, second.id, "1", "Twice."],
      ],
    );
    const { voidedAt, recordedAt, voidedBy, apiKeyId, ...line } = lines[1]!;
    assert.ok(voidedAt && recordedAt && voidedBy === apiKeyId);
    assert.deepEqual(line, {
      ...{ cursor: second.id, id: second.id, organizationId, externalId: null, productSlug: "tiles" },
      ...{ metric: "requests", quantity: "1", timestamp: "2026-11-01T00:00:00.000Z", idempotencyKey: "k" },
      ...{ properties: null, voidReason: "Twice.", environment: "live" },
    });
    assert.deepEqual(await all(exportRecords(test.services, second.id)), []);
    const third = await recordOne(test, fullKey, { timestamp: "2026-10-20T00:00:00.000Z" });
    const idsSince = async (cursor: string) =>
      (await all(exportRecords(test.services, cursor))).map(({ id }) => id);
    assert.deepEqual(await idsSince(second.id), [third.id], "although its time is earlier");
    // Retention deletes the oldest: their cursors stay valid.
    await test.opened.database.write([
      sql`DELETE FROM usage_records WHERE timestamp < ${test.now()} AND seq < 5`,
    ]);
    assert.deepEqual(await idsSince(first.id), [second.id, third.id]);
    const unknown = { message: /“since”: must be the cursor of a line/ };
    const wrong = `${third.id.slice(0, 4)}${"0".repeat(12)}${third.id.slice(16)}`;
    for (const cursor of ["", "use_1", `use_${"f".repeat(24)}`, wrong]) {
      await assert.rejects(all(exportRecords(test.services, cursor)), unknown, cursor);
    }
  },
  {},
);

onEveryDatabase("exports the lines of closed statements in a fixed order, and only those", async (test) => {
  const customers = [await newCustomer(test), await newCustomer(test)];
  // More lines than one step reads.
  const metrics = Array.from({ length: 501 }, (_, n) => `m${n}`);
  for (const [index, { fullKey: apiKey }] of customers.entries()) {
    const records = metrics.slice(0, index === 0 ? undefined : 2).map((metric) => ({
      ...{ productSlug: "tiles", metric, quantity: 2.5, timestamp: "2026-10-31T23:00:00.000Z" },
    }));
    assert.equal(await recordAll(test, { apiKey, records }), records.length);
  }
  assert.deepEqual(await all(exportStatements(test.services)), []);
  await closeStatement(test.services, commandLineActor, { period: "2026-10", waitMs: 60_000 });
  const october = await all(exportStatements(test.services));
  assert.equal(new Set(october.map(({ cursor }) => cursor)).size, 503);
  const first = october[0];
  assert.ok(first !== undefined);
  assert.deepEqual([first.period, first.quantity, first.records, first.amount], ["2026-10", "2.5", 1, null]);
  await recordOne(test, customers[1]?.fullKey ?? "", { quantity: 1, timestamp: "2026-10-30T23:00:00.000Z" });
  test.advance(30 * 24 * 3_600_000);
  await closeStatement(test.services, commandLineActor, { period: "2026-11", waitMs: 60_000 });
  const both = await all(exportStatements(test.services));
  assert.deepEqual(both.slice(0, 503), october);
  assert.deepEqual(
    both.slice(503).map(({ period, adjustmentOf, quantity }) => [period, adjustmentOf, quantity]),
    [
      ["2026-11", "2026-10", "1"],
    ],
  );
  for (const index of [0, 499, 500, 502, 503]) {
    const rest = await all(exportStatements(test.services, both[index]?.cursor));
    assert.deepEqual(rest, both.slice(index + 1));
  }
  for (const cursor of ["2026-10", "2026-12~x", "2026-10~org_1~0~a~b", `${both[0]?.cursor}~`]) {
    await assert.rejects(all(exportStatements(test.services, cursor)), { code: "validation_failed" }, cursor);
  }
}, {});

async function newCustomer(test: TestApp): Promise<{ organizationId: string; fullKey: string }> {
  const organizationId = await newOrganization(test, "Customer");
  const [key] = await newKeys(test, organizationId, 1);
  return { organizationId, fullKey: key?.fullKey ?? "" };
}
