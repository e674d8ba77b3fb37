// Names, units and colors are those of the operator's catalogue, and colors don't depend on how much is used.
import assert from "node:assert/strict";
import {
  type Catalogue,
  type CatalogueInput,
  catalogueOf,
  coloredProducts,
  metricOf,
  metricsInOrder,
  productOf,
} from "../../../domain/meter/catalogue.ts";

const product = (slug: string, metrics: CatalogueInput["products"][number]["metrics"] = []) => ({
  slug,
  name: `The ${slug}`,
  metrics,
});
const colors = (catalogue: Catalogue, ...slugs: string[]) =>
  slugs.map((slug) => productOf(catalogue, slug).color);

Deno.test("catalogueOf() colors the operator's products first, then others in the order of first use", () => {
  const catalogue = catalogueOf({ products: [product("b"), product("a")], used: ["z", "a", "y", "x", "w"] });
  assert.deepEqual(colors(catalogue, "b", "a", "z", "y", "x", "w", "v"), [1, 2, 3, 4, 5, "other", "other"]);
  assert.deepEqual(coloredProducts(catalogue), ["b", "a", "z", "y", "x"]);
  assert.equal(productOf(catalogue, "a").name, "The a");
  assert.equal(productOf(catalogue, "z").name, "z");
});

Deno.test("catalogueOf() doesn't spend colors on unused products when there are many", () => {
  const products = ["a", "b", "c", "d", "e", "f", "g"].map((slug) => product(slug));
  const catalogue = catalogueOf({ products, used: ["z", "g", "c"] });
  assert.deepEqual(colors(catalogue, "c", "g", "z", "a"), [1, 2, 3, "other"]);
  assert.equal(productOf(catalogue, "a").name, "The a");
});

Deno.test("metricOf() has the name and unit of the catalogue, unless products disagree or the name says it", () => {
  const catalogue = catalogueOf({
    products: [
      product("a", [
        { slug: "requests", name: "Requests", unit: "request" },
        { slug: "traffic", name: "Data transfer", unit: "bytes" },
        { slug: "views", name: "Map loads", unit: "loads" },
        { slug: "size", name: "Size", unit: "GB" },
      ]),
      product("b", [{ slug: "traffic", name: "Other", unit: "bytes" }, {
        slug: "size",
        name: "Size",
        unit: "MB",
      }]),
    ],
    used: [],
  });
  assert.deepEqual(metricOf(catalogue, "requests"), { slug: "requests", name: "Requests", unit: null });
  assert.deepEqual(metricOf(catalogue, "traffic"), { slug: "traffic", name: "Data transfer", unit: "bytes" });
  assert.equal(metricOf(catalogue, "views").unit, null);
  assert.equal(metricOf(catalogue, "size").unit, null);
  assert.deepEqual(metricOf(catalogue, "map_loads"), { slug: "map_loads", name: "Map loads", unit: null });
});

Deno.test("metricsInOrder() follows the catalogue, then the names, not how much was used", () => {
  const metrics = [{ slug: "z", name: "Zebra", unit: null }, { slug: "a", name: "Apple", unit: null }];
  const catalogue = catalogueOf({ products: [product("p", metrics)], used: [] });
  const inOrder = (...slugs: string[]) =>
    metricsInOrder(catalogue, slugs.map((metric) => ({ metric }))).map(({ metric }) => metric);
  assert.deepEqual(inOrder("y", "a", "b", "z"), ["z", "a", "b", "y"]);
});
