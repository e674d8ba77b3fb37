// The page of one API key, with its meters and its usage.
import assert from "node:assert/strict";
import { findGenerations } from "../../../db/keys/api_keys.ts";
import { sql } from "../../../db/engine/database.ts";
import { AppError } from "../../../domain/errors.ts";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { holdScene, units } from "../../support/meter/holds.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { openPage } from "../../support/portal/pages.ts";
import { shownOn } from "../../support/portal/usage_page.ts";
import { joinedPerson } from "../../support/people/people.ts";
import { onEveryDatabase, recordAll } from "../../support/meter/usage.ts";

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

testApp("a key's page shows its budget, and the overview the limits of the organization", async (test) => {
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
  const budget = "tiles · Requests per day 45 of 50 90% used, 5 left Resets Nov 22, 00:00 UTC";
  const limit =
    "tiles · Requests per day 100 of 100 Limit reached. New requests are rejected. Resets Nov 22, 00:00 UTC";
  assert.doesNotMatch((await show(test, "/portal/usage", ada)).html, /100 of 100|<h2>Limits/);
  const cards = cardsOf(html);
  assert.equal(cards["Budget"], `Change ${budget}`);
  assert.match(
    cardsOf((await show(test, "/portal", ada)).html)["Limits"] ?? "",
    new RegExp(`${limit} You don.*t get emails about these limits until you confirm your email address`, "i"),
  );
  const without = cardsOf((await show(test, `${path}/${other.id}`, ada)).html);
  assert.match(without["Budget"] ?? "", /^No budget\. .* Set budget$/);
});

testApp("members see their own keys' budgets, and don't change them", async (test) => {
  const ada = await test.signUp("Ada");
  const member = await joinedPerson(test, ada, "MEMBER");
  const { id } = await createTestKey(test, member);
  const own = await show(test, `${path}/${id}`, member);
  assert.match(cardsOf(own.html)["Budget"] ?? "", /^No budget\. .* limits\.$/);
  assert.equal(cardsOf(own.html)["Audit log"], undefined);
  const { id: adas } = await createTestKey(test, ada);
  assert.match(
    (await show(test, path, member)).html,
    /Your keys\. Admins can see everyone’s\..*>1 active key</s,
  );
  assert.match((await show(test, path, ada)).html, />2 active keys · limit 100</);
  assert.equal((await show(test, `${path}/${adas}`, member)).status, 404);
});

testApp("a key's page offers no changes of a revoked key", async (test) => {
  const ada = await test.signUp("Ada");
  const { id } = await createTestKey(test, ada);
  const links = async () => {
    const { html } = await show(test, `${path}/${id}`, ada);
    return [...html.matchAll(new RegExp(`href="${path}/${id}/(\\w+)"`, "g"))].map(([, action]) => action);
  };
  assert.deepEqual([...new Set(await links())].sort(), ["budget", "disable", "edit", "revoke", "rotate"]);
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
  assert.equal(cardsOf(page.html)["Budget"], "Change Not available right now");
  const overview = await show(test, "/portal", ada);
  assert.equal(overview.status, 200);
  assert.equal(
    cardsOf(overview.html)["Limits"],
    "Default plan Not available right now. Try again in a minute.",
  );
});

testApp("owners set a key's budget with a form, which shows again what is wrong", async (test) => {
  const ada = await test.signUp("Ada");
  const { id, fullKey } = await createTestKey(test, ada);
  await recordAll(test, { apiKey: fullKey, records: [{ ...tiles, quantity: 1 }] });
  await addLimit(test, {}, { ...tiles, per: "month", quantity: 1_000 });
  const address = `${path}/${id}/budget`;
  const empty = await show(test, address, ada);
  assert.match(empty.html, /<datalist id="products"><option value="tiles"/);
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
  assert.match(cardsOf(page.html)["Budget"] ?? "", /^Change tiles · Requests per day 1 of 1,000 &lt;1% used/);
  assert.match((await show(test, address, ada)).html, /name="limits\[0\]\.quantity" value="1,000"/);
  assert.equal((await openPage(test, address, { person: ada, form: {} })).status, 303);
  assert.match(cardsOf((await show(test, `${path}/${id}`, ada)).html)["Budget"] ?? "", /^No budget/);
});

testApp("a key's page has an explorer of its usage with the keys it replaced", async (test) => {
  const ada = await test.signUp("Ada");
  const { id, fullKey } = await createTestKey(test, ada);
  const other = await createTestKey(test, ada, { name: "Other" });
  await recordAll(test, { apiKey: fullKey, records: [{ ...tiles, quantity: 30 }] });
  await recordAll(test, { apiKey: other.fullKey, records: [{ ...tiles, quantity: 60 }] });
  const rotated = await openPage(test, `${path}/${id}/rotate`, { form: { expireOld: "24h" }, person: ada });
  const next = /service_live_[0-9A-Za-z]{38}/.exec(rotated.html)?.[0] ?? "";
  await recordAll(test, {
    apiKey: next,
    records: [{ ...tiles, quantity: 5 }, { ...tiles, metric: "bytes", quantity: 7 }],
  });
  const [{ id: nextId } = { id: "" }] = (await (await test.send("/api/portal/api-keys?limit=1", {
    cookie: ada.cookie,
  })).json()).apiKeys;
  for (const address of [id, nextId]) {
    const { html } = await show(test, `${path}/${address}`, ada);
    const { strip, products, tabs, numbers } = shownOn(html);
    assert.deepEqual(strip, [["Bytes", "7"], ["Requests", "35"]]);
    assert.deepEqual([products, tabs], [[["tiles", "35", "100%", "New"]], ["Product 1"]]);
    assert.equal(numbers.length, 30);
    assert.doesNotMatch(html, /name="apiKey"|apiKey=[^"]*range/);
    assert.match(html, new RegExp(`href="${path}/${nextId}/rotate"`));
    assert.equal(html.match(/class="badge on">Current</g)?.length, 1);
    assert.match(cardsOf(html)["Audit log"] ?? "", /Rotated .* Ada .* Created .* Ada/);
    assert.match(
      html,
      /Usage today, with the keys it replaced: 35 requests\. Requests with this key will fail immediately/,
    );
  }
  const bytes = (await show(test, `${path}/${nextId}?metric=bytes&range=today`, ada)).html;
  assert.deepEqual([shownOn(bytes).metric, shownOn(bytes).sum], ["Bytes", "7"]);
  assert.match(bytes, new RegExp(`href="${path}/${nextId}\\?range=7d&amp;metric=bytes"`));
});

testApp("a key's page shows where its last request came from", async (test) => {
  const ada = await test.signUp("Ada");
  const { id, fullKey: apiKey } = await createTestKey(test, ada);
  const page = async () => (await show(test, `${path}/${id}`, ada)).html;
  assert.match(await page(), /Waiting for the first request/);
  const headers = { "user-agent": "<b>node</b>/24" };
  await test.send("/api/v1/usage", {
    apiKey,
    json: { ...tiles, quantity: 1 },
    headers,
    peerAddress: "203.0.113.9",
  });
  await test.services.lastRequests.flush();
  const last = cardsOf(await page())["Last request"] ?? "";
  assert.match(last, /Network 203\.0\.113\.0\/24 Client &lt;b&gt;node&lt;\/b&gt;\/24 Response 201 Created/);
});

testApp("the revoke page says when the key was used, and how much today", async (test) => {
  const ada = await test.signUp("Ada");
  const { id, fullKey } = await createTestKey(test, ada);
  const text = async () => (await show(test, `${path}/${id}/revoke`, ada)).html;
  assert.match(await text(), /Never used\. Requests with this key/);
  const { fullToken } = await newOperatorToken(test);
  const json = { records: [{ apiKeyId: id, ...tiles, quantity: 28_543 }] };
  const recorded = await test.send("/api/operator/usage", { apiKey: fullToken, json });
  assert.equal(recorded.status, 201);
  assert.match(await text(), /No requests yet\. Usage today: 28,543 requests\. Requests with this key/);
  assert.match(await text(), /<dt>Last usage<\/dt><dd><time[^>]*>In the last hour</);
  const { html } = await show(test, `${path}/${id}`, ada);
  assert.doesNotMatch(html, /Waiting for the first request|Never used/);
  assert.match((await show(test, path, ada)).html, /Last usage: <time[^>]*>In the last hour</);
  await recordAll(test, { apiKey: fullKey, records: [{ ...tiles, quantity: 3_124 }] });
  test.advance(2 * 60_000);
  assert.match(await text(), /Last request 2 minutes ago\. Usage today: 31,667 requests\. Requests/);
  test.advance(6 * 86_400_000);
  assert.match(await text(), /Last request on Nov 21, 2026\. Last usage on Nov 21, 2026\. Requests/);
});

onEveryDatabase("the audit log shows all entries about a key and its rotations together", async (test) => {
  const ada = await test.signUp("Ada");
  const member = await joinedPerson(test, ada, "MEMBER");
  const { id } = await createTestKey(test, ada, { name: "First" });
  await createTestKey(test, ada, { name: "Elsewhere" });
  await openPage(test, `${path}/${id}/rotate`, { form: { expireOld: "now" }, person: ada });
  const { html } = await show(test, `/portal/audit?targetId=${id}`, ada);
  assert.equal(html.match(/<tr role="row"/g)?.length, 3);
  assert.doesNotMatch(html, /Elsewhere/);
  assert.match(html, /name="targetId"/);
  const created = await show(test, `/portal/audit?targetId=${id}&action=api_key.created`, ada);
  assert.equal(created.html.match(/<tr role="row"/g)?.length, 2);
  const everything = await show(test, "/portal/audit?targetId=key_unknown", ada);
  assert.match(everything.html, /Elsewhere/);
  const own = await createTestKey(test, member);
  for (const query of [`targetId=${id}`, `targetId=${own.id}`, `targetId=${own.id}&from=never`]) {
    assert.equal((await show(test, `/portal/audit?${query}`, member)).status, 403, query);
  }
  assert.equal(cardsOf((await show(test, `${path}/${id}`, ada)).html)["Audit log"] === undefined, false);
});

testApp("of a key that was rotated many times, the page reads the newest generations", async (test) => {
  const ada = await test.signUp("Ada");
  const { id } = await createTestKey(test, ada, { name: "Often" });
  await test.opened.database.write([sql`
    WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 600)
    INSERT INTO api_keys (id, organization_id, key_hash, key_prefix, name, created_by, created_by_operator, permissions,
      created_at, lineage, revoked_at)
    SELECT id || value, organization_id, 'hash ' || value, key_prefix, name, created_by, created_by_operator, permissions,
      created_at, lineage, CASE WHEN value < 600 THEN created_at END
    FROM n, api_keys k WHERE k.id = ${id}`]);
  const find = (limit: number) =>
    findGenerations(test.opened.database, { organizationId: ada.organizationId }, {
      id,
      now: test.now(),
      limit,
    });
  assert.equal((await find(20))[0]?.id, `${id}600`);
  assert.equal((await find(1_000)).length, 500);
});

testApp("a key's page shows its active holds and their age", async (test) => {
  const { person, post, operator, keyId } = await holdScene(test);
  await post("", { records: units(4), expiresIn: 3_600 });
  test.advance(120_000);
  const held = { apiKeyId: keyId, records: units(2), onExpiry: "record" };
  assert.equal((await operator("POST /holds", held)).status, 201);
  const holds = async () =>
    cardsOf((await show(test, `${path}/${keyId}`, person)).html)["Active holds"]?.replaceAll(
      /hld_\w+/g,
      "ID",
    );
  assert.equal(
    await holds(),
    "tiles · Requests: 2 Just now · by the operator · recorded in 10 minutes ID " +
      "tiles · Requests: 4 2 minutes ago · expires in 58 minutes ID",
  );
  test.advance(3_600_000);
  assert.doesNotMatch(await holds() ?? "", /Requests: 4/);
});
