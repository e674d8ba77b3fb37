// The webhook endpoints of the filled portal: of the company, and of the operator.
import { run } from "../people/scene.ts";
import { as, ok, type Scene } from "./scene.ts";

const hourMs = 3_600_000;

/** URLs of names that no test looks up, with what became of them. */
const endpoints = [
  {
    description: "Billing",
    url: "https://billing.northwind.example/hooks/gatehouse",
    events: ["limit.*", "api_key.expiring"],
    set: (now: number) => ({ last_delivered_at: now - 12 * 60_000 }),
  },
  {
    description: "",
    url:
      "https://europe-west1-northwind-maps-production.cloudfunctions.example/events/3f1c6bd2a9e84d57b1f0?environment=production",
    events: ["*"],
    set: (now: number) => ({
      failing_since: now - 26 * hourMs,
      failures: 6,
      last_delivered_at: now - 30 * hourMs,
    }),
  },
  {
    description:
      "Chat of the on-call team for limits, keys and everyone who joins or leaves the organization",
    url: "https://chat.example/services/T01/B02",
    events: ["limit.reached", "api_key.created", "member.added", "member.removed"],
    set: (now: number) => ({ disabled_at: now - 40 * hourMs, disabled_reason: "gone" }),
  },
] as const;

const own = [
  ["Invoices", "https://invoices.gatehouse.example/closed"],
  ["Invoices of last year", "https://old-invoices.gatehouse.example/closed"],
] as const;

/** Adds endpoints of the company and of the operator. */
export async function addWebhooks(scene: Scene): Promise<void> {
  const { test, operatorToken: apiKey, named } = scene;
  for (const { url, events, description, set } of endpoints) {
    const json = { url: "https://1.1.1.1/", events, description: description && named(description) };
    const { webhook } = await as(scene, "Ada Lovelace", "/api/portal/webhooks", { json });
    const values = { url, ...set(test.now()) };
    const columns = Object.keys(values).map((name) => `${name} = ?`).join(", ");
    await run(test, `UPDATE webhooks SET ${columns} WHERE id = ?`, ...Object.values(values), webhook.id);
    test.advance(1_000);
  }
  for (const [description, url] of own) {
    const json = { url: "https://1.1.1.1/", events: ["statement.closed"], description: named(description) };
    const { webhook } = await ok(test, "/api/operator/webhooks", { apiKey, json });
    const isOld = description !== own[0][0];
    const set = "UPDATE webhooks SET url = ?, disabled_at = ?, disabled_reason = ? WHERE id = ?";
    await run(test, set, url, isOld ? test.now() : null, isOld ? "manual" : null, webhook.id);
  }
}
