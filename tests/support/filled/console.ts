// Customers for the operator console, created with an operator token.
import assert from "node:assert/strict";
import type { TestApp } from "../app/app.ts";
import { newOperatorToken } from "../operators/operators.ts";

const hourMs = 3_600_000;
const names = [
  "Northwind Maps",
  "Halden Logistics",
  "Åkerman & Söner",
  "Ridgeline Forecasting of the Northern Counties",
];
const products = ["tiles", "search", "geocoding", "routing", "elevation", "traffic", "weather"];
const limits = [
  { metric: "requests", per: "month", quantity: 60_000_000 },
  { productSlug: "geocoding", metric: "requests", per: "day", quantity: 400_000 },
  { productSlug: "tiles", metric: "bytes", per: "month", quantity: 5_000_000, mode: "soft" },
];

/** What there is to look at. */
export interface ConsoleData {
  /** The id of the first organization. */
  readonly organizationId: string;
  readonly tokenId: string;
  readonly planId: string;
}

/** Creates a catalogue, a plan, organizations with keys and usage of the last days, one of them suspended. */
export async function fillConsole(test: TestApp): Promise<ConsoleData> {
  const { id: tokenId, fullToken } = await newOperatorToken(test);
  const send = async (path: string, json: unknown, method = "POST") => {
    const response = await test.send(path, { method, apiKey: fullToken, json });
    const text = await response.text();
    assert.ok(response.ok, `${path}: ${text}`);
    return JSON.parse(text);
  };
  const metrics = [{ slug: "requests", name: "Requests", unit: "requests" }];
  await send("/api/operator/products", { slug: "tiles", name: "Map tiles", metrics });
  const { plan } = await send("/api/operator/plans", { name: "Growth", limits });
  let organizationId = "";
  for (const [index, name] of names.entries()) {
    const { organization } = await send("/api/operator/organizations", {
      name,
      externalId: index === 2 ? null : `cus_${8841 + index}`,
      ...(index % 2 === 0 ? { planId: plan.id } : {}),
    });
    if (organizationId === "") organizationId = organization.id;
    const records = products.flatMap((productSlug, product) =>
      Array.from({ length: 20 }, (_, day) => ({
        organizationId: organization.id,
        productSlug,
        metric: product === 0 && day % 4 === 0 ? "bytes" : "requests",
        quantity: Math.round(1e6 / (index + 1) / (product + 1)) + day,
        timestamp: new Date(test.now() - 24 * day * hourMs).toISOString(),
      }))
    );
    await send("/api/operator/usage", { records });
    if (index === 1) {
      await send(`/api/operator/organizations/${organization.id}`, { status: "suspended" }, "PATCH");
    }
  }
  return { organizationId, tokenId, planId: plan.id };
}
