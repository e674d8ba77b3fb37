// Entries of changes say what changed, to operators and customers: with names and units, never with slugs.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
import { startDiscovery } from "../../../support/network/discovery.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { senderOf } from "../../../support/operators/operator_api.ts";
import { openPage } from "../../../support/portal/pages.ts";

const requests = { productSlug: null, metric: "requests", per: "month", mode: "hard" } as const;
const compute = { productSlug: "elevation", metric: "compute_time", per: "day", mode: "hard" } as const;
const plain = { unit: null, unitPrice: null, dimensions: [], aggregation: "sum", uniqueProperty: null };
const metrics = [
  { ...plain, slug: "requests", name: "Requests" },
  { ...plain, slug: "compute_time", name: "Compute time", unit: "seconds" },
] as const;

/** An operator with a catalogue, and a customer. */
async function newScene(test: TestApp) {
  const operator = await newOperator(test);
  const send = senderOf(test, { path: "/api/operator", cookie: operator.cookie });
  await send("POST /products", { slug: "elevation", name: "Elevation", metrics });
  const ada = await test.signUp("Ada");
  return { operator, send, ada, name: "Ada’s organization" };
}

/** Returns the sentences of a page of the audit log, the oldest first. */
async function sentencesOf(test: TestApp, person: TestPerson, path: string): Promise<string[]> {
  const { status, html } = await openPage(test, path, { person });
  assert.equal(status, 200);
  return [...html.matchAll(/<div class="act">(.*?)<\/div>/gs)].map(([, sentence = ""]) =>
    sentence.replace(/<div.*/s, "").replaceAll(/<[^>]*>/g, "").replaceAll("&#39;", "'").replaceAll(
      /\s+/g,
      " ",
    )
      .trim()
  ).reverse();
}

testApp(
  "an organization's limits, plan and time zone are in both logs as they were and are",
  async (test) => {
    const { operator, send, ada, name } = await newScene(test);
    const [plan] = (await send("GET /plans")).body.plans;
    await send(`PATCH /plans/${plan.id}`, { limits: [{ ...requests, quantity: 12_000_000 }] });
    const pro = (await send("POST /plans", { name: "Pro" })).body.plan;
    const change = (json: object) => send(`PATCH /organizations/${ada.organizationId}`, json);
    const withLimits = (limits: readonly object[], more = {}) => change({ overrides: { limits, ...more } });
    const raised = { ...requests, quantity: 15_000_000 };
    await withLimits([{ ...requests, quantity: 12_000_000 }]);
    await withLimits([]);
    await withLimits([raised]);
    await withLimits([{ ...raised, quantity: 14_000_000 }, { ...compute, quantity: 7_200 }], {
      apiKeysMax: 20,
    });
    await withLimits([{ ...raised, quantity: null }, { ...compute, quantity: 7_200, mode: "soft" }]);
    await withLimits([], { apiKeysMax: 10 });
    await change({ overrides: { apiKeysMax: null } });
    await change({ planId: pro.id });
    await change({ timezone: "America/New_York" });
    const expected = [
      `Set Requests per month to 12,000,000 (hard) for ${name}`,
      `Changed Requests per month from 12,000,000 to the plan's for ${name}`,
      `Raised Requests per month from 12,000,000 to 15,000,000 for ${name}`,
      `Changed the limits of ${name}: set API keys to 20 instead of the plan's; ` +
      "lowered Requests per month from 15,000,000 to 14,000,000; set Elevation · Compute time per day to 2 h (hard)",
      `Changed the limits of ${name}: changed Requests per month from 14,000,000 to no limit; ` +
      "changed Elevation · Compute time per day from 2 h (hard) to 2 h (soft)",
      `Changed the limits of ${name}: lowered API keys from 20 to 10; ` +
      "changed Requests per month from no limit to the plan's; " +
      "changed Elevation · Compute time per day from 2 h to the plan's",
      `Changed API keys from 10 to the plan's for ${name}`,
      `Changed the plan of ${name} from Default to Pro`,
      `Changed the time zone of ${name} from UTC to America/New York`,
    ];
    const pages = [[ada, "/portal/audit"], [operator, "/operator/audit"]] as const;
    for (const [person, path] of pages) {
      const sentences = await sentencesOf(test, person, `${path}?action=organization`);
      assert.deepEqual(sentences.filter((sentence) => !sentence.startsWith("Created")), expected);
    }
  },
);

testApp("a plan's entries say what its numbers, limits and features were", async (test) => {
  const { operator, send } = await newScene(test);
  const { id } = (await send("POST /plans", { name: "Pro", apiKeysMax: 5 })).body.plan;
  const change = (json: object) => send(`PATCH /plans/${id}`, json);
  await change({ limits: [{ ...compute, quantity: 90 }] });
  await change({ name: "Gold", features: ["satellite"] });
  await change({ apiKeysMax: 6, limits: [], isDefault: true });
  await change({ requestsPerSecond: 0 });
  assert.deepEqual(await sentencesOf(test, operator, "/operator/audit?action=plan.changed"), [
    "Set Elevation · Compute time per day to 1.5 min (hard) in the plan Pro",
    "Changed the plan Gold: renamed it from Pro to Gold; changed the features from none to satellite",
    "Changed the plan Gold: raised API keys from 5 to 6; removed the limit of 1.5 min on Elevation · Compute time per day; " +
    "made it the default",
    "Changed Requests per second from 1,000 to no limit in the plan Gold",
  ]);
});

testApp("a key's budget and expiry are in words, and so are voided and old usage", async (test) => {
  const { operator, send, ada } = await newScene(test);
  const key = await createTestKey(test, ada, { name: "Production" });
  const change = async (json: object) =>
    await test.send(`/api/portal/api-keys/${key.id}`, { method: "PATCH", cookie: ada.cookie, json });
  const budget = { ...requests, quantity: 1_000, notifyAt: [50, 100] };
  await change({ budget: [budget, { ...compute, quantity: 60 }] });
  await change({ budget: [{ ...budget, quantity: 2_000 }] });
  await change({ budget: [{ ...budget, quantity: 2_000, notifyAt: [80, 100] }] });
  await change({ budget: [] });
  await change({ expiresAt: "2026-12-31T00:00:00.000Z" });
  const old = "2026-10-12T08:00:00.000Z";
  const { organizationId } = ada;
  const record = { productSlug: "elevation", metric: "compute_time", quantity: 7_200, timestamp: old };
  const sent = await send("POST /usage", { records: [{ organizationId, ...record, idempotencyKey: "old" }] });
  assert.equal(sent.status, 201, JSON.stringify(sent.body));
  const { body } = await send(`GET /usage/records?organizationId=${organizationId}`);
  await send(`POST /usage/records/${body.usageRecords[0].id}/void`, { reason: "Twice" });
  const expected = [
    "Changed the budget of the key Production: set Requests per month to 1,000 (hard, notify at 50, 100%); " +
    "set Elevation · Compute time per day to 1 min (hard)",
    "Changed the budget of the key Production: raised Requests per month from 1,000 to 2,000; " +
    "removed the limit of 1 min on Elevation · Compute time per day",
    "Changed Requests per month from 2,000 (hard, notify at 50, 100%) to 2,000 (hard) for the key Production",
    "Removed the budget of the key Production",
    "Changed the expiry of the key Production from never to Dec 31, 00:00 UTC",
    "Recorded an old record, from Oct 12",
    "Voided 2 h compute time of Elevation: Twice",
  ];
  const pages = [[ada, "/portal/audit?"], [operator, `/operator/audit?organizationId=${organizationId}&`]];
  for (const [person, path] of pages as [TestPerson, string][]) {
    const sentences = await Promise.all(
      ["api_key.budget_changed", "api_key.expiry_changed", "usage"].map((action) =>
        sentencesOf(test, person, `${path}action=${action}`)
      ),
    );
    assert.deepEqual(sentences.flat(), expected);
  }
});

testApp("prices have their metrics' names and the currency", async (test) => {
  const { operator, send } = await newScene(test);
  const change = (json: object) => send("PATCH /products/elevation", json);
  const priced = (prices: readonly (string | null)[]) => ({
    metrics: metrics.map((metric, at) => ({ ...metric, unitPrice: prices[at] ?? null })),
  });
  await change(priced(["0.5", null]));
  await change(priced(["0.6", "1200"]));
  const renamed = await change({ name: "Heights", ...priced([null, "1100"]) });
  assert.equal(renamed.status, 200, JSON.stringify(renamed.body));
  const unique = { dimensions: [["user"]], aggregation: "unique", uniqueProperty: "user" };
  const recounted = await change({
    metrics: [{ ...metrics[0], ...unique }, { ...metrics[1], unitPrice: "1100" }],
  });
  assert.equal(recounted.status, 200, JSON.stringify(recounted.body));
  assert.deepEqual(await sentencesOf(test, operator, "/operator/audit?action=product.changed"), [
    "Set the price of Requests to EUR 0.5 for Elevation",
    "Changed the product Elevation: raised the price of Requests from EUR 0.5 to EUR 0.6; " +
    "set the price of Compute time to EUR 1,200",
    "Changed the product Heights: renamed it from Elevation to Heights; removed the price of Requests (EUR 0.6); " +
    "lowered the price of Compute time from EUR 1,200 to EUR 1,100",
    "Changed the product Heights: changed the aggregation of Requests from sum of quantities to distinct values of user",
  ]);
}, { CURRENCY: "EUR" });

testApp("entries say whose values events may name", async (test) => {
  const { operator, send } = await newScene(test);
  for (const shareable of [["user", "team"], ["team"], []]) {
    const changed = await send("PATCH /products/elevation", {
      metrics: [{ ...metrics[0], shareable }, metrics[1]],
    });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
  }
  const changed = "Changed the values of Requests that events may name";
  assert.deepEqual(await sentencesOf(test, operator, "/operator/audit?action=product.changed"), [
    `${changed} from none to user + team for Elevation`,
    `${changed} from user + team to team for Elevation`,
    `${changed} from team to none for Elevation`,
  ]);
});

testApp("a sign-in provider's entries say what changed, without its secret", async (test) => {
  await using discovery = startDiscovery();
  const { operator, send } = await newScene(test);
  const json = { slug: "okta", kind: "oidc", name: "Okta", issuer: discovery.issuer, clientId: "one" };
  const created = await send("POST /identity-providers", { ...json, clientSecret: "secret-1" });
  const { id } = created.body.identityProvider;
  const change = (json: object) => send(`PATCH /identity-providers/${id}`, json);
  assert.equal(created.status, 201, JSON.stringify(created.body));
  await change({ name: "Work", clientId: "two", clientSecret: "secret-2" });
  await change({ trustEmail: true, signUp: false });
  assert.deepEqual(await sentencesOf(test, operator, "/operator/audit?action=identity_provider.changed"), [
    "Changed the sign-in provider Work: name from Okta to Work; client ID from one to two; client secret",
    "Changed the sign-in provider Work: trusts every email address: yes; anyone can sign up: no",
  ]);
}, { SECRETS_KEY: btoa("k".repeat(32)) });
