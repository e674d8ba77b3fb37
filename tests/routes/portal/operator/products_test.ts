// The console's pages of the catalogue of products.
import assert from "node:assert/strict";
import { recentAuthenticationMs } from "../../../../domain/limits.ts";
import { type TestApp, testApp, testPassword, type TestPerson } from "../../../support/app/app.ts";
import { assertRows, fetchJson } from "../../../support/app/rows.ts";
import { newOperator } from "../../../support/operators/console.ts";

const path = "/operator/products";
const tiles = {
  slug: "tiles",
  name: "Map tiles",
  "metrics[1].slug": "bytes",
  "metrics[1].name": "Data transfer",
  "metrics[1].unit": "GB",
  "metrics[1].unitPrice": " 0.050 ",
  "metrics[3].slug": "requests",
  "metrics[3].name": "Requests",
};

async function products(test: TestApp, by: TestPerson) {
  const { products } = await fetchJson(test, by, "GET /api/operator/products");
  return products.map(({ createdAt: _, ...product }: { createdAt: string }) => product);
}

const metric = (more: { slug: string; name: string; unit?: string; unitPrice?: string }) => ({
  ...{ unit: null, unitPrice: null, dimensions: [], shareable: [], aggregation: "sum", uniqueProperty: null },
  ...more,
});

testApp("operators add, edit and delete products", async (test) => {
  const mara = await newOperator(test);
  await assertRows(test, mara, [
    [`GET ${path}`, null, 200, { shows: ["No products yet"] }],
    [`POST ${path}/new`, tiles, `303 ${path}?done=added`],
    [`GET ${path}?done=added`, null, 200, { shows: ["Data transfer (GB), Requests"] }],
  ]);
  const metrics = [
    metric({ slug: "bytes", name: "Data transfer", unit: "GB", unitPrice: "0.05" }),
    metric({ slug: "requests", name: "Requests" }),
  ];
  assert.deepEqual(await products(test, mara), [{ slug: "tiles", name: "Map tiles", metrics }]);

  const edit = `${path}/tiles/edit`;
  const form = {
    name: "Tiles",
    "metrics[0].slug": "requests",
    "metrics[0].name": "Calls",
    "metrics[0].unit": " ",
  };
  await assertRows(test, mara, [
    [`GET ${edit}`, null, 200, { shows: ['value="Data transfer"'] }],
    [`POST ${edit}`, form, 303],
  ]);
  const changed = [metric({ slug: "requests", name: "Calls" })];
  assert.deepEqual(await products(test, mara), [{ slug: "tiles", name: "Tiles", metrics: changed }]);

  await assertRows(test, mara, [
    [`GET ${path}/tiles/delete`, null, 200, { shows: ["Delete “<bdi>Tiles</bdi>”?"] }],
    [`POST ${path}/tiles/delete`, {}, 303],
    [`GET ${edit}`, null, 404],
  ]);
  assert.deepEqual(await products(test, mara), []);
});

testApp("the form of a product has the properties whose values events may name", async (test) => {
  const mara = await newOperator(test);
  const shared = (list: string) => ({ ...tiles, "metrics[1].shareable": list });
  await assertRows(test, mara, [
    [`POST ${path}/new`, shared("user, a b"), 422, {
      shows: ['id="metrics[0].shareable-error"', 'value="user, a b"', "must be 1 to 64 letters"],
    }],
    [`POST ${path}/new`, shared(" user,team "), 303],
    [`GET ${path}/tiles/edit`, null, 200, { shows: ['value="user, team"'] }],
  ]);
  const [{ metrics }] = await products(test, mara);
  assert.deepEqual(metrics.map((metric: { shareable: string[] }) => metric.shareable), [
    ["user", "team"],
    [],
  ]);
});

testApp("a rejected product is shown again with what is wrong", async (test) => {
  const form = { ...tiles, name: "", "metrics[3].slug": "not a slug" };
  await assertRows(test, await newOperator(test), [
    [`POST ${path}/new`, tiles, 303],
    [`POST ${path}/new`, tiles, 409, { shows: ["A product with this slug already exists."] }],
    // Empty rows before the wrong one are left out.
    [`POST ${path}/new`, form, 422, {
      shows: ['id="name-error"', 'id="metrics[1].slug-error"', 'value="not a slug"'],
    }],
  ]);
});

testApp("changes ask for a recent authentication before the form, and lead back to it", async (test) => {
  const mara = await newOperator(test);
  test.advance(recentAuthenticationMs);
  const proof = { password: testPassword, return_to: `${path}/new` };
  await assertRows(test, mara, [
    [`GET ${path}/new`, null, "303 /portal/confirm-password?return_to=%2Foperator%2Fproducts%2Fnew"],
    ["POST /portal/confirm-password", proof, `303 ${path}/new`],
    [`GET ${path}/new`, null, 200],
  ]);
});
