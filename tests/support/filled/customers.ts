// The operator's other customers in the filled portal: a few for tests, and more for looking at the console.
import { recordOne } from "../meter/usage.ts";
import { run } from "../people/scene.ts";
import { type Random, seededRandom } from "../runner/random.ts";
import { ok, personOf, type Scene } from "./scene.ts";
import { catalogue, metrics } from "./usage.ts";

const dayMs = 86_400_000;
const batchRecords = 1_000;

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

/** Adds customers on several plans with usage since September, closes two months, and changes one of them afterwards. */
export async function addMoreCustomers(scene: Scene, count: number): Promise<void> {
  const { test, operatorToken: apiKey } = scene;
  const random = seededRandom(26);
  const planIds: string[] = [];
  for (const [name, quantity] of plans) {
    const limits = [{ metric: "requests", per: "month", quantity, mode: "soft" }];
    const { plan } = await ok(test, "/api/operator/plans", { apiKey, json: { name, limits } });
    planIds.push(plan.id);
  }
  for (const { slug, name, metrics: slugs } of catalogue) {
    const json = {
      name,
      metrics: slugs.map((metric) => ({ ...metrics[metric], unitPrice: unitPrices[metric] ?? null })),
    };
    await ok(test, `/api/operator/products/${slug}`, { method: "PATCH", apiKey, json });
  }
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const json = {
      name: `${firstWords[index % firstWords.length]} ${secondWords[index % secondWords.length]}`,
      ...(index % 9 === 8 ? {} : { externalId: `cus_${1000 + index * 37}` }),
      planId: planIds[Math.min(2, Math.floor(index / 12))],
      timezone: timezones[index % timezones.length],
    };
    const { organization: { id } } = await ok(test, "/api/operator/organizations", { apiKey, json });
    ids.push(id);
    for (let key = 0; key < index % 4; key++) {
      const path = `/api/operator/organizations/${id}/api-keys`;
      const { fullKey } = await ok(test, path, { apiKey, json: { name: keyNames[key] } });
      if (key === 0) await recordOne(test, fullKey, { productSlug: "search", metric: "requests" });
    }
    await record(scene, customerRecords(id, { index, now: test.now(), random }));
  }
  for (const id of ids.filter((_, index) => index % 17 === 14)) {
    const path = `/api/operator/organizations/${id}`;
    await ok(test, path, { method: "PATCH", apiKey, json: { status: "suspended" } });
  }
  for (const period of ["2026-09", "2026-10"]) {
    await ok(test, "/api/operator/statements", { apiKey, json: { period } });
  }
  await record(
    scene,
    ids.slice(3, 7).map((organizationId) => ({
      organizationId,
      productSlug: "tiles",
      metric: "requests",
      quantity: 12_345,
      timestamp: "2026-10-30T08:00:00Z",
    })),
  );
}

interface CustomerRecord {
  readonly organizationId: string;
  readonly productSlug: string;
  readonly metric: string;
  readonly quantity: number;
  readonly timestamp: string;
}

async function record({ test, operatorToken: apiKey }: Scene, records: readonly CustomerRecord[]) {
  for (let at = 0; at < records.length; at += batchRecords) {
    const json = { records: records.slice(at, at + batchRecords) };
    await ok(test, "/api/operator/usage", { apiKey, json });
  }
}

/** Returns the daily usage of a customer since September 1: the later one comes, the less it uses. Some grow, shrink, begin or stop. */
function customerRecords(
  organizationId: string,
  { index, now, random }: { index: number; now: number; random: Random },
): CustomerRecord[] {
  const from = Date.UTC(2026, 8, 1, 9);
  const days = Math.floor((now - from) / dayMs);
  const perDay = 2e5 / (index + 2) ** 0.8;
  const growth = [0, 0.4, -0.2, 1.2, 0.1][index % 5] ?? 0;
  const first = index % 13 === 12 ? days - 18 : 0;
  const last = index % 17 === 16 ? days - 9 : days;
  return catalogue.slice(0, 1 + index % 5).flatMap(({ slug, metrics: slugs }, product) =>
    Array.from({ length: last - first + 1 }, (_, number) => number + first).flatMap((day) => {
      const time = from + day * dayMs;
      const isWeekend = [0, 6].includes(new Date(time).getUTCDay());
      const amount = perDay / (product + 1) * (1 + growth * day / days) * (isWeekend ? 0.5 : 1) *
        random.between(90, 110) / 100;
      return slugs.map((metric) => ({
        organizationId,
        productSlug: slug,
        metric,
        quantity: metric === "data_transfer"
          ? Math.round(amount * 21_337)
          : metric === "compute_time"
          ? Math.round(amount * 12.5) / 1e3
          : Math.round(amount),
        timestamp: new Date(time).toISOString(),
      }));
    })
  );
}

const plans = [["Enterprise", 20_000_000], ["Starter", 600_000], ["Free", 150_000]] as const;
const unitPrices: Readonly<Record<string, string>> = {
  requests: "0.0004",
  data_transfer: "0.00000000009",
  compute_time: "0.0125",
};
const timezones = ["UTC", "UTC", "Europe/Berlin", "Asia/Tokyo"];
const keyNames = ["Production", "Staging", "Local tests"];
const firstWords =
  "Tessel Pelago Ostra Bright-Harbor Civic Lumen Fjordline Aurelia Baltic Cobalt Driftwood Evergreen Foxglove Granite Hollow-Oak Isar Juniper Kestrel Larkspur"
    .split(" ").map((word) => word.replace("-", " "));
const secondWords =
  "Weather Shipping Mobility Energy Atlas Freight Data Parcel Survey Rides Analytics Utilities Travel Mapping Insurance Robotics Field-Services Drones-and-Aerial-Photography Homes Ferries Parking Schools Transit"
    .split(" ").map((word) => word.replaceAll("-", " "));
