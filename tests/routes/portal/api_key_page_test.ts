// The page of one API key, and the meters on it and on the usage page.
import assert from "node:assert/strict";
import { AppError } from "../../../domain/errors.ts";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app.ts";
import { addLimit } from "../../support/limits.ts";
import { openPage } from "../../support/pages.ts";
import { joinedPerson } from "../../support/people.ts";
import { recordAll } from "../../support/usage.ts";

const path = "/portal/api-keys";
const tiles = { productSlug: "tiles", metric: "requests" };

/** @returns The text of each card of a page by its heading. */
function cardsOf(html: string): Record<string, string> {
  const text = (part: string) => part.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ").trim();
  return Object.fromEntries(
    html.split('<section class="card">').slice(1).map((card) => {
      const [head = "", rest = ""] = card.split("</h2>");
      return [text(head), text(rest.split("</section>")[0] ?? "")];
    }),
  );
}

const show = (test: TestApp, address: string, person: TestPerson) => openPage(test, address, { person });

testApp("a key's page shows its budget, and the limits of the organization", async (test) => {
  const ada = await test.signUp("Ada");
  const { id, fullKey } = await createTestKey(test, ada);
  const other = await createTestKey(test, ada, { name: "Other" });
  const { organizationId } = ada;
  await addLimit(test, { organizationId }, { ...tiles, per: "day", quantity: 100, mode: "hard" });
  await addLimit(test, { apiKeyId: id }, { ...tiles, per: "day", quantity: 50, mode: "hard" });
  await recordAll(test, { apiKey: fullKey, records: [{ ...tiles, quantity: 45 }] });
  await recordAll(test, { apiKey: other.fullKey, records: [{ ...tiles, quantity: 55 }] });
  const { html, status } = await show(test, `${path}/${id}`, ada);
  assert.equal(status, 200);
  const budget = "tiles · requests per day 45 of 50 90% used, 5 left Resets in 9 hours";
  const limit =
    "tiles · requests per day 100 of 100 Limit reached. New requests are rejected. Resets in 9 hours";
  assert.deepEqual(cardsOf(html), {
    "Budget": `Change ${budget}`,
    "Organization limits": `All keys added up ${limit}`,
  });
  assert.match(
    cardsOf((await show(test, "/portal/usage", ada)).html)["Limits"] ?? "",
    new RegExp(`${limit}$`),
  );
  const without = cardsOf((await show(test, `${path}/${other.id}`, ada)).html);
  assert.match(without["Budget"] ?? "", /^No budget .* Set budget$/);
});

testApp("members see their own keys' budgets, and don't change them", async (test) => {
  const ada = await test.signUp("Ada");
  const member = await joinedPerson(test, ada, "MEMBER");
  const { id } = await createTestKey(test, member);
  const own = await show(test, `${path}/${id}`, member);
  assert.deepEqual(cardsOf(own.html), {
    Budget: "No budget A budget limits what this key can use, within the limits of your organization.",
  });
  const { id: adas } = await createTestKey(test, ada);
  assert.match((await show(test, path, member)).html, />1 active · 0 inactive</);
  assert.match((await show(test, path, ada)).html, />2 of 100 active · 0 inactive</);
  assert.equal((await show(test, `${path}/${adas}`, member)).status, 404);
});

testApp("a key's page offers no changes of a revoked key", async (test) => {
  const ada = await test.signUp("Ada");
  const { id } = await createTestKey(test, ada);
  const links = async () => {
    const { html } = await show(test, `${path}/${id}`, ada);
    return [...html.matchAll(new RegExp(`href="${path}/${id}/(\\w+)"`, "g"))].map(([, action]) => action);
  };
  assert.deepEqual(await links(), ["edit", "rotate", "revoke", "budget"]);
  await test.send(`/api/portal/api-keys/${id}`, { method: "DELETE", cookie: ada.cookie });
  assert.deepEqual(await links(), []);
});

testApp("the pages work without meters while reports are busy", async (test) => {
  const ada = await test.signUp("Ada");
  const { id, fullKey } = await createTestKey(test, ada);
  await recordAll(test, { apiKey: fullKey, records: [{ ...tiles, quantity: 1 }] });
  await addLimit(test, { apiKeyId: id }, { ...tiles, per: "day", quantity: 50 });
  await addLimit(test, {}, { ...tiles, per: "day", quantity: 50 });
  const { reports } = test.services;
  const read = reports.read.bind(reports);
  reports.read = (name, ...more) => {
    if (name === "sumLimits") throw new AppError("unavailable", "Busy.");
    return read(name, ...more);
  };
  const page = await show(test, `${path}/${id}`, ada);
  assert.equal(page.status, 200);
  assert.deepEqual(cardsOf(page.html), { Budget: "Change Not available right now" });
  const usage = await show(test, "/portal/usage", ada);
  assert.equal(usage.status, 200);
  assert.equal(cardsOf(usage.html)["Limits"], undefined);
});

testApp("owners set a key's budget with a form, which shows again what is wrong", async (test) => {
  const ada = await test.signUp("Ada");
  const { id, fullKey } = await createTestKey(test, ada);
  await recordAll(test, { apiKey: fullKey, records: [{ ...tiles, quantity: 1 }] });
  await addLimit(test, {}, { ...tiles, per: "month", quantity: 1_000 });
  const address = `${path}/${id}/budget`;
  const empty = await show(test, address, ada);
  assert.match(empty.html, /<datalist id="products"><option value="tiles">/);
  const row = (index: number, limit: Record<string, string>) =>
    Object.fromEntries(Object.entries(limit).map(([name, value]) => [`limits[${index}].${name}`, value]));
  const limit = { ...tiles, per: "day", quantity: "1,000", mode: "soft" };
  const form = { ...row(0, { ...limit, quantity: "1,000.5" }), ...row(2, { ...limit, metric: "A b" }) };
  const rejected = await openPage(test, address, { person: ada, form });
  assert.equal(rejected.status, 422);
  assert.match(rejected.html, /name="limits\[0\]\.quantity" value="1,000\.5"/);
  assert.match(rejected.html, /id="limits\[1\]\.metric-error"/);
  const tooHigh = await openPage(test, address, {
    person: ada,
    form: row(0, { ...limit, quantity: "1,000.5" }),
  });
  assert.equal(tooHigh.status, 422);
  assert.match(tooHigh.html, /This must be at most 1000, the organization&#39;s limit per month\./);
  const saved = await openPage(test, address, {
    person: ada,
    form: { ...row(0, limit), ...row(4, { per: "day" }) },
  });
  assert.deepEqual([saved.status, saved.location], [303, `${path}/${id}?done=budget`]);
  const page = await show(test, saved.location ?? "", ada);
  assert.match(page.html, /The budget has been saved\./);
  assert.match(cardsOf(page.html)["Budget"] ?? "", /^Change tiles · requests per day 1 of 1,000 0% used/);
  assert.match((await show(test, address, ada)).html, /name="limits\[0\]\.quantity" value="1,000"/);
  assert.equal((await openPage(test, address, { person: ada, form: {} })).status, 303);
  assert.match(cardsOf((await show(test, `${path}/${id}`, ada)).html)["Budget"] ?? "", /^No budget/);
});
