// The catalogue of products, over the operators' API, on both kinds of database.
import assert from "node:assert/strict";
import { productMetricsMax, productsMax } from "../../../../domain/limits.ts";
import { assertSent, operatorOf } from "../../../support/operators/operator_api.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";

const unpriced = {
  unit: null,
  unitPrice: null,
  dimensions: [],
  shareable: [],
  aggregation: "sum",
  uniqueProperty: null,
};
const tiles = {
  slug: "tiles",
  name: "Map tiles",
  metrics: [
    { slug: "requests", name: "Requests", ...unpriced, unitPrice: "0.000000000001" },
    { slug: "bytes", name: "Traffic", ...unpriced, unit: "GB" },
  ],
};

onEveryDatabase("adds, lists, changes and deletes products, and audits each change", async (test) => {
  const send = await operatorOf(test, ["statements:read", "statements:write"]);
  const created = await send("POST /products", { ...tiles, name: "  Map tiles " });
  assert.equal(created.status, 201);
  const createdAt = new Date(test.now()).toISOString();
  assert.deepEqual(created.body.product, { ...tiles, createdAt });
  assert.deepEqual((await send("GET /products/tiles")).body.product, { ...tiles, createdAt });
  assert.equal((await send("POST /products", tiles)).body.error.code, "product_taken");

  const reversed = tiles.metrics.toReversed();
  const changed = await send("PATCH /products/tiles", { name: "Tiles", metrics: reversed });
  assert.deepEqual(changed.body.product, { slug: "tiles", name: "Tiles", metrics: reversed, createdAt });
  assert.equal((await send("PATCH /products/tiles", { name: "Tiles", metrics: reversed })).status, 200);
  assert.deepEqual((await send("GET /products/tiles")).body.product.metrics, reversed);

  const [bytes, requests] = reversed;
  const priced = [
    {
      ...bytes,
      unitPrice: "012.50",
      dimensions: [],
      shareable: [],
      aggregation: "sum",
      uniqueProperty: null,
    },
    { ...requests, unitPrice: "0.000000000002" },
  ];
  const { product } = (await send("PATCH /products/tiles", { metrics: priced })).body;
  assert.deepEqual(product.metrics.map(({ unitPrice }: { unitPrice: string }) => unitPrice), [
    "12.5",
    "0.000000000002",
  ]);

  await send("POST /products", { slug: "Z", name: "Last" });
  await send("POST /products", { slug: "a", name: "First" });
  const first = (await send("GET /products?limit=2")).body;
  const second = (await send(`GET /products?limit=2&cursor=${first.nextCursor}`)).body;
  const slugs = [...first.products, ...second.products].map(({ slug }) => slug);
  assert.deepEqual(slugs, ["Z", "a", "tiles"]);
  assert.equal(second.nextCursor, null);

  assert.equal((await send("DELETE /products/tiles")).status, 204);
  for (const method of ["GET", "DELETE"]) {
    assert.equal((await send(`${method} /products/tiles`)).body.error.code, "not_found");
  }
  assert.equal((await send("PATCH /products/tiles", { name: "Tiles" })).status, 404);
  const metrics = await test.opened.database.read({ sql: "SELECT * FROM product_metrics", args: [] });
  assert.deepEqual(metrics, []);
  const entries = await test.opened.database.read({
    sql:
      `SELECT action, target_id AS target, actor_type AS actor, details ->> 'prices' AS prices FROM audit_events WHERE organization_id IS NULL ORDER BY id`,
    args: [],
  });
  const entry = (action: string, target: string, prices: string | null = null) => (
    { action, target, actor: "operator", prices }
  );
  assert.deepEqual(entries, [
    entry("product.created", "tiles", "requests: none → 0.000000000001"),
    entry("product.changed", "tiles"),
    entry("product.changed", "tiles", "bytes: none → 12.5, requests: 0.000000000001 → 0.000000000002"),
    entry("product.created", "Z"),
    entry("product.created", "a"),
    entry("product.deleted", "tiles"),
  ]);
});

onEveryDatabase("rejects products that are invalid or too many", async (test) => {
  const send = await operatorOf(test);
  const metric = { slug: "m", name: "M" };
  const withMetric = (more: object) => ({ metrics: [{ ...metric, ...more }] });
  const prices = ["-1", "1e3", ".5", "1.", "1,5", "", "0.0000000000001", "1000000000000", "9".repeat(101), 1];
  const many = Array.from({ length: productMetricsMax + 1 }, (_, i) => ({ slug: `m${i}`, name: "M" }));
  const invalid: readonly (readonly [object, string])[] = [
    [{ slug: "-x" }, "slug"],
    [{ name: " " }, "name"],
    [{ metrics: [metric, { ...metric, name: "Again" }] }, "metrics[1].slug"],
    [withMetric({ unit: "x".repeat(21) }), "metrics[0].unit"],
    [withMetric({ unit: "\u202e" }), "metrics[0].unit"],
    [withMetric({ shareable: ["user", "user"] }), "metrics[0].shareable[1]"],
    [withMetric({ shareable: ["a b"] }), "metrics[0].shareable[0]"],
    [withMetric({ shareable: Array.from({ length: 21 }, (_, n) => `p${n}`) }), "metrics[0].shareable"],
    ...prices.map((unitPrice) => [withMetric({ unitPrice }), "metrics[0].unitPrice"] as const),
    [{ metrics: many }, "metrics"],
    [{ price: 1 }, "price"],
  ];
  const good = { slug: "x", name: "X" };
  await assertSent(
    send,
    invalid.map(([json, path]) =>
      ["POST /products", { ...good, ...json }, `422 validation_failed ${path}`] as const
    ),
  );
  const slugs = Array.from({ length: productsMax - 1 }, (_, i) => `p${i}`);
  const insert = "INSERT INTO products (slug, name, created_at) SELECT value, 'P', 0 FROM json_each(?)";
  await run(test, insert, JSON.stringify(slugs));
  const last = await Promise.all(["x", "y"].map((slug) => send("POST /products", { slug, name: "X" })));
  assert.deepEqual(last.map(({ status, body }) => body.error?.code ?? status).sort(), [201, "limit_reached"]);
});
