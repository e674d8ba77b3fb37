// The console's pages of the catalogue of products.
import assert from "node:assert/strict";
import { recentAuthenticationMs } from "../../../../domain/limits.ts";
import { type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
import { confirmPassword, newOperator } from "../../../support/operators/console.ts";
import { openPage } from "../../../support/portal/pages.ts";

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

async function products(test: TestApp, { cookie }: TestPerson) {
  const { products } = await (await test.send("/api/operator/products", { cookie })).json();
  return products.map(({ createdAt: _, ...product }: { createdAt: string }) => product);
}

testApp("operators add, edit and delete products", async (test) => {
  const mara = await newOperator(test);
  assert.match((await openPage(test, path, { person: mara })).html, /No products yet/);
  const added = await openPage(test, `${path}/new`, { person: mara, form: tiles });
  assert.equal(added.location, `${path}?done=added`);
  const metrics = [
    {
      slug: "bytes",
      name: "Data transfer",
      unit: "GB",
      unitPrice: "0.05",
      dimensions: [],
      aggregation: "sum",
      uniqueProperty: null,
    },
    {
      slug: "requests",
      name: "Requests",
      unit: null,
      unitPrice: null,
      dimensions: [],
      aggregation: "sum",
      uniqueProperty: null,
    },
  ];
  assert.deepEqual(await products(test, mara), [{ slug: "tiles", name: "Map tiles", metrics }]);
  assert.match(
    (await openPage(test, added.location, { person: mara })).html,
    /Data transfer \(GB\), Requests/,
  );

  const edit = `${path}/tiles/edit`;
  assert.match((await openPage(test, edit, { person: mara })).html, /value="Data transfer"/);
  await openPage(test, edit, {
    person: mara,
    form: {
      name: "Tiles",
      "metrics[0].slug": "requests",
      "metrics[0].name": "Calls",
      "metrics[0].unit": " ",
    },
  });
  const changed = [{
    slug: "requests",
    name: "Calls",
    unit: null,
    unitPrice: null,
    dimensions: [],
    aggregation: "sum",
    uniqueProperty: null,
  }];
  assert.deepEqual(await products(test, mara), [{ slug: "tiles", name: "Tiles", metrics: changed }]);

  const question = await openPage(test, `${path}/tiles/delete`, { person: mara });
  assert.match(question.html, /Delete “<bdi>Tiles<\/bdi>”\?/);
  await openPage(test, `${path}/tiles/delete`, { person: mara, form: {} });
  assert.deepEqual(await products(test, mara), []);
  assert.equal((await openPage(test, edit, { person: mara })).status, 404);
});

testApp("a rejected product is shown again with what is wrong", async (test) => {
  const mara = await newOperator(test);
  await openPage(test, `${path}/new`, { person: mara, form: tiles });
  const taken = await openPage(test, `${path}/new`, { person: mara, form: tiles });
  assert.equal(taken.status, 409);
  assert.match(taken.html, /A product with this slug already exists\./);
  const form = { ...tiles, name: "", "metrics[3].slug": "not a slug" };
  const { status, html } = await openPage(test, `${path}/new`, { person: mara, form });
  assert.equal(status, 422);
  assert.match(html, /id="name-error"/);
  // Empty rows before it are left out.
  assert.match(html, /id="metrics\[1\]\.slug-error"/);
  assert.match(html, /value="not a slug"/);
});

testApp("changes require a recent authentication, which is asked for before the form", async (test) => {
  const mara = await newOperator(test);
  test.advance(recentAuthenticationMs);
  const away = await openPage(test, `${path}/new`, { person: mara });
  assert.equal(away.location, "/portal/confirm-password?return_to=%2Foperator%2Fproducts%2Fnew");
  const sent = await openPage(test, `${path}/new`, { person: mara, form: tiles });
  assert.equal(sent.location, away.location);
  assert.deepEqual(await products(test, mara), []);
  assert.equal((await openPage(test, path, { person: mara })).status, 200);
  const back = await confirmPassword(test, mara, away);
  assert.equal(back.location, `${path}/new`);
  assert.equal((await openPage(test, `${path}/new`, { person: mara })).status, 200);
});
