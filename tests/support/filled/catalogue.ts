// The catalogue of a company with maps, with the prices of its products.
import { ok, type Scene } from "./scene.ts";
import { catalogue, metrics } from "./usage.ts";

/** Tiles have prices by region. */
const tilePrices = [
  { properties: { region: "eu-central" }, unitPrice: "0.0005" },
  { properties: { region: "us-east" }, unitPrice: "0.0003" },
  { unitPrice: "0.0004" },
];

/** Adds the products, one second apart. */
export async function addCatalogue({ test, operatorToken, named }: Scene): Promise<void> {
  const priceOf = (product: string, { slug, unit }: { slug: string; unit: string }) =>
    product === "tiles" && slug === "requests" ? tilePrices : unit === "bytes" ? "0.000001" : "0.0004";
  for (const { slug, name, metrics: names } of catalogue) {
    const metricsNamed = names.flatMap((each) => metrics[each] ?? []).map((metric) => ({
      ...metric,
      name: named(metric.name),
      ...(test.config.currency !== null && { unitPrice: priceOf(slug, metric) }),
    }));
    const json = { slug, name: named(name), metrics: metricsNamed };
    await ok(test, "/api/operator/products", { apiKey: operatorToken, json });
    // Their order decides their colors.
    test.advance(1_000);
  }
}
