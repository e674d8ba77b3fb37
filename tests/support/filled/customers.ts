// The operator's other customers in the filled portal.
import { run } from "../people/scene.ts";
import { ok, personOf, type Scene } from "./scene.ts";
import { catalogue } from "./usage.ts";

const dayMs = 86_400_000;

/** Adds other customers of the operator, one of them suspended, and one that Ada administers too. */
export async function addCustomers({ test, operatorToken: apiKey, people, named }: Scene): Promise<void> {
  for (const [index, name] of customers.entries()) {
    const json = { name: named(name), externalId: `cus_${9001 + index}` };
    const { organization: { id } } = await ok(test, "/api/operator/organizations", { apiKey, json });
    const records = catalogue.slice(0, 1 + index % 5).flatMap(({ slug }, product) =>
      Array.from({ length: 40 }, (_, day) => ({
        organizationId: id,
        productSlug: slug,
        metric: "requests",
        quantity: Math.round(2e5 / (index + 1) / (product + 1) * (1 - day / 90)),
        timestamp: new Date(test.now() - day * dayMs).toISOString(),
      }))
    );
    await ok(test, "/api/operator/usage", { apiKey, json: { records } });
    if (index === 0) {
      await run(
        test,
        "INSERT INTO memberships (user_id, organization_id, role, created_at) VALUES (?, ?, 'ADMIN', ?)",
        personOf({ people }, "Ada Lovelace").userId,
        id,
        test.now() - 30 * dayMs,
      );
    }
    if (index === 2) {
      await ok(test, `/api/operator/organizations/${id}`, {
        method: "PATCH",
        apiKey,
        json: { status: "suspended" },
      });
    }
  }
}

const customers = [
  "Halden Logistics",
  "Åkerman & Söner",
  "Ridgeline Forecasting of the Northern Counties",
  "Pinecrest Dental",
  "Kvam Kommune",
  "Blue Harbor Sailing",
  "Tessellate",
  "Meridian Freight",
];
