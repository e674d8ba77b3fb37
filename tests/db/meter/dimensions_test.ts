// Sums by dimension, on both kinds of database: the rows of the rollups against the records.
import assert from "node:assert/strict";
import { dimensionValuesMax } from "../../../domain/meter/dimension.ts";
import { deletedUsageKeptMs } from "../../../domain/limits.ts";
import { deleteSomeOfDeletedOrganizations } from "../../../services/people/organization_deletion.ts";
import { deleteRemovedDimensions, fillDimensions } from "../../../services/meter/dimensions.ts";
import { createTestKey } from "../../support/app/app.ts";
import { asOperator } from "../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { checkOwnSums } from "../../support/meter/own_sums.ts";
import { checkRollups, rowsOf } from "../../support/meter/rollups.ts";
import {
  onBothDatabases,
  onEveryDatabase,
  recordAll,
  recordOne,
  voidOne,
} from "../../support/meter/usage.ts";

const metric = { slug: "requests", name: "Requests", unit: null, unitPrice: null };
const product = (...dimensions: string[][]) => ({
  slug: "tiles",
  name: "Map tiles",
  metrics: [{ ...metric, dimensions }],
});

onBothDatabases(
  "counts values in the recording transaction, beyond the maximum as others, and voids them",
  async (test) => {
    const { fullToken } = await newOperatorToken(test, ["statements:read", "statements:write"]);
    const send = asOperator(test, fullToken);
    assert.equal((await send("POST /products", product(["region"], ["model", "region"]))).status, 201);
    const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
    const read = rowsOf(test.opened.database);
    const sent = (quantity: number, properties?: Record<string, string>) => ({
      productSlug: "tiles",
      metric: "requests",
      quantity,
      ...(properties && { properties }),
    });
    await recordAll(test, {
      apiKey,
      records: [
        sent(1, { region: "eu", model: "m" }),
        sent(5, { region: "eu", model: "n" }),
        sent(0.5, { region: "(other)" }),
        sent(2),
        { ...sent(9, { region: "us" }), metric: "bytes" },
      ],
    });
    const ids = [
      await recordOne(test, apiKey, sent(7, { region: "eu" })),
      await recordOne(test, apiKey, sent(7)),
    ];
    await checkRollups(read);
    await recordAll(test, {
      apiKey,
      records: Array.from({ length: dimensionValuesMax }, (_, n) => sent(n, { region: `r${n}` })),
    });
    await recordOne(test, apiKey, sent(100_000, { region: "late" }));
    await checkRollups(read);
    const other = await recordOne(test, apiKey, sent(200_000, { region: "later" }));
    for (const { id } of [...ids, other]) await voidOne(test, { apiKey, id });
    await checkRollups(read);
  },
);

onEveryDatabase("passes the records of other metrics without adding them", async (test) => {
  const { fullToken } = await newOperatorToken(test, ["statements:read", "statements:write"]);
  const send = asOperator(test, fullToken);
  await send("POST /products", product());
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const read = rowsOf(test.opened.database);
  const record = (quantity: number) => recordOne(test, apiKey, { quantity, properties: { region: "eu" } });
  await record(1);
  const other = { productSlug: "tiles", metric: "bytes", quantity: 1, properties: { region: "eu" } };
  await recordAll(test, { apiKey, records: Array(60).fill(other) });
  const voided = await record(2);
  await record(3);
  const { metrics } = product(["region"]);
  assert.equal((await send("PATCH /products/tiles", { metrics })).status, 200);
  await voidOne(test, { apiKey, id: voided.id });
  let steps = 0;
  while (await fillDimensions(test.services, { recordsMax: 2, restMs: 0 })) {
    steps++;
    await checkRollups(read);
    await checkOwnSums(test.opened.database);
  }
  // The two newest, forty others, and twenty others with the oldest.
  assert.equal(steps, 3);
  assert.deepEqual(await read("SELECT complete_since, unfilled_seq FROM usage_dimensions"), [
    { complete_since: null, unfilled_seq: 0 },
  ]);
});

onEveryDatabase("reads no records from before the first usage of the metric", async (test) => {
  const { fullToken } = await newOperatorToken(test, ["statements:read", "statements:write"]);
  const send = asOperator(test, fullToken);
  await send("POST /products", product());
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const read = rowsOf(test.opened.database);
  const other = { productSlug: "tiles", metric: "bytes", quantity: 1 };
  await recordAll(test, { apiKey, records: Array(120).fill(other) });
  test.advance(2 * 86_400_000);
  // A record of another metric, of a time before.
  const timestamp = new Date(test.now() - 86_400_000).toISOString();
  await recordAll(test, { apiKey, records: [{ ...other, timestamp }] });
  for (const quantity of [1, 2, 3]) await recordOne(test, apiKey, { quantity, properties: { region: "eu" } });
  assert.equal((await send("PATCH /products/tiles", { metrics: product(["region"]).metrics })).status, 200);
  let steps = 0;
  while (await fillDimensions(test.services, { recordsMax: 2, restMs: 0 })) steps++;
  // The two newest, and the third with the first of the others.
  assert.equal(steps, 2);
  await checkRollups(read);
  assert.deepEqual(await read("SELECT complete_since, unfilled_seq FROM usage_dimensions"), [
    { complete_since: null, unfilled_seq: 0 },
  ]);
});

onEveryDatabase(
  "deletes the sums of a removed dimension, and those of a deleted organization",
  async (test) => {
    const { fullToken } = await newOperatorToken(test, [
      "statements:read",
      "statements:write",
      "organizations:write",
    ]);
    const send = asOperator(test, fullToken);
    await send("POST /products", product(["region"], ["model"]));
    const person = await test.signUp();
    const { fullKey: apiKey } = await createTestKey(test, person);
    const read = rowsOf(test.opened.database);
    for (const region of ["eu", "us"]) await recordOne(test, apiKey, { properties: { region } });
    const before = Number((await read("SELECT count(*) AS rows FROM usage_rollups"))[0]?.["rows"]);
    await send("PATCH /products/tiles", { metrics: product(["model"]).metrics });
    await recordOne(test, apiKey, { properties: { region: "ap" } });
    while (await deleteRemovedDimensions(test.services)) {
      await checkRollups(read);
      await checkOwnSums(test.opened.database);
    }
    await checkRollups(read);
    assert.deepEqual(await read("SELECT count(*) AS rows FROM usage_rollups"), [{ rows: before - 2 }]);
    assert.deepEqual(await read("SELECT names FROM usage_dimensions"), [{ names: '["model"]' }]);
    await send(`DELETE /organizations/${person.organizationId}`);
    test.advance(deletedUsageKeptMs + 1);
    while (await deleteSomeOfDeletedOrganizations(test.services));
    for (const table of ["values", "series", "added"]) {
      assert.deepEqual(await read(`SELECT * FROM usage_dimension_${table}`), []);
    }
    assert.deepEqual(await read("SELECT * FROM usage_rollups r WHERE r.series < 0"), []);
  },
);
