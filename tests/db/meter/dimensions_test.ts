// Sums by dimension, on both kinds of database: the rows of the rollups against the records.
import assert from "node:assert/strict";
import { dimensionValuesMax } from "../../../domain/meter/dimension.ts";
import { deletedUsageKeptMs } from "../../../domain/limits.ts";
import { deleteSomeOfDeletedOrganizations } from "../../../services/organization/organization_deletion.ts";
import { deleteRemovedDimensions } from "../../../services/meter/dimensions.ts";
import { createTestKey } from "../../support/app/app.ts";
import { asOperator } from "../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
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
    while (await deleteRemovedDimensions(test.services)) await checkRollups(read);
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
