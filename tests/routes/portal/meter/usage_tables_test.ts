// The tables of the usage page, and what it remembers for a person.
import assert from "node:assert/strict";
import { createTestKey, testApp } from "../../../support/app/app.ts";
import { joinedPerson, verifiedPerson } from "../../../support/people/people.ts";
import { poll } from "../../../support/runner/poll.ts";
import { recordOne } from "../../../support/meter/usage.ts";
import { hrefOf, usagePage } from "../../../support/portal/usage_page.ts";

testApp("lists all products and keys, with links, share and change, and pages of them", async (test) => {
  const person = await test.signUp();
  const names = ["Production", "Import", "Production", "<b>Old</b>"];
  const keys = [];
  for (const name of names) keys.push(await createTestKey(test, person, { name }));
  for (const [index, key] of keys.entries()) await recordOne(test, key.fullKey, { quantity: 4 ** index });
  await recordOne(test, keys[0]?.fullKey ?? "", { quantity: 15, productSlug: "search" });
  await recordOne(test, keys[1]?.fullKey ?? "", { quantity: 8, timestamp: "2026-11-10T12:00:00Z" });
  const query = { range: "7d", timezone: "Asia/Kathmandu" };
  const all = await usagePage(test, person, query);
  assert.deepEqual(all.tabs, ["Product 2", "API key 4"]);
  assert.deepEqual(all.products, [["tiles", "85", "85.0%", "963% more"], ["search", "15", "15.0%", "New"]]);
  assert.equal(all.sum, "100");
  const byKey = await usagePage(test, person, hrefOf(all.html, "API key "));
  assert.deepEqual(byKey.keys.map(([name, ...rest]) => [name?.replace(/\(.*…\)/, "(…)"), ...rest]), [
    ["&lt;b&gt;Old&lt;/b&gt;", "64", "64.0%", "New"],
    ["Production (…)", "16", "16.0%", "New"],
    ["Production (…)", "16", "16.0%", "New"],
    ["Import", "4", "4.0%", "50.0% less"],
  ]);
  assert.equal(byKey.numbers.at(-1)?.length, 6);
  assert.equal(byKey.numbers.at(-1)?.at(-1), "100");
  const imports = await usagePage(test, person, hrefOf(byKey.html, "Import"));
  assert.deepEqual([imports.sum, imports.keys.length], ["4", 1]);
  assert.equal(hrefOf(imports.html, "Open key"), `/portal/api-keys/${keys[1]?.id}`);
  const search = await usagePage(test, person, hrefOf(all.html, "search"));
  assert.deepEqual([search.sum, search.products.length], ["15", 1]);
  assert.match(search.label, /Asia\/Kathmandu/);
  // A chip removes its filter.
  const chip = /<a class="chip" href="([^"]*)" aria-label="Remove the filter Product: search"/.exec(
    search.html,
  );
  assert.equal((await usagePage(test, person, chip?.[1]?.replaceAll("&amp;", "&") ?? "")).sum, "100");
});

testApp("has pages of keys, if there are many", async (test) => {
  const person = await test.signUp();
  const keys = [];
  for (let n = 0; n < 13; n++) keys.push(await createTestKey(test, person, { name: `Key ${n}` }));
  for (const [n, { fullKey }] of keys.entries()) await recordOne(test, fullKey, { quantity: 100 - n });
  const first = await usagePage(test, person, { stack: "key" });
  assert.equal(first.keys.length, 8);
  const second = await usagePage(test, person, hrefOf(first.html, "Next"));
  assert.deepEqual(second.keys.map(([name]) => name), ["Key 8", "Key 9", "Key 10", "Key 11", "Key 12"]);
  // Five have a series of their own.
  assert.deepEqual(second.numbers.at(-1)?.length, 8);
  assert.match(second.html, /8 others/);
  const back = await usagePage(test, person, hrefOf(second.html, "Previous"));
  assert.equal(back.keys.length, 8);
});

testApp("a rotated key is one line, under its current name, and one choice of the filter", async (test) => {
  const person = await test.signUp();
  const { id, fullKey } = await createTestKey(test, person, { name: "Production" });
  await recordOne(test, fullKey, { quantity: 3 });
  const path = `/api/portal/api-keys/${id}/rotate`;
  const response = await test.send(path, { cookie: person.cookie, json: {} });
  const { apiKey, fullKey: newKey } = await response.json();
  await recordOne(test, newKey, { quantity: 4 });
  const all = await usagePage(test, person, { stack: "key" });
  assert.deepEqual(all.keys.map(([name, sum]) => [name, sum]), [["Production", "7"]]);
  for (const one of [id, apiKey.id]) {
    const { html, sum, chosen } = await usagePage(test, person, { apiKey: one });
    assert.deepEqual([sum, chosen["apiKey"]], ["7", apiKey.id]);
    assert.equal(hrefOf(html, "Open key"), `/portal/api-keys/${apiKey.id}`);
  }
});

testApp("remembers the time zone and the metric that a person chose, for them alone", async (test) => {
  const person = await test.signUp();
  const { fullKey } = await createTestKey(test, person);
  for (const quantity of [1, 2]) await recordOne(test, fullKey, { quantity });
  await recordOne(test, fullKey, { metric: "bytes", quantity: 70 });
  const open = async (query: string, headers: Record<string, string>) => {
    const response = await test.send(`/portal/usage?${query}`, { cookie: person.cookie, headers });
    assert.equal(response.status, 200);
    await response.body?.cancel();
  };
  const shown = async () => {
    const { metric, label } = await usagePage(test, person);
    return [metric, label.includes("Asia/Kathmandu")];
  };
  const chosen = "metric=bytes&timezone=Asia/Kathmandu";
  const own = { "sec-fetch-site": "same-origin" };
  await open(chosen, { "sec-fetch-site": "cross-site" });
  await open(chosen, { "sec-fetch-site": "none" });
  await open(chosen, { ...own, "hx-request": "true" });
  await open("metric=nothing&timezone=Mars", own);
  assert.deepEqual(await shown(), ["Requests", false]);
  await open(chosen, { ...own, "hx-request": "true", "hx-boosted": "true" });
  await poll(async () => (await shown())[1] === true);
  assert.deepEqual(await shown(), ["Bytes", true]);
  await open("timezone=UTC", own);
  await poll(async () => (await shown())[1] === false);
  assert.deepEqual(await shown(), ["Bytes", false]);
  // Where the metric wasn't used, another one is shown without a word.
  await recordOne(test, fullKey, { productSlug: "search", quantity: 5 });
  const search = await usagePage(test, person, { productSlug: "search" });
  assert.deepEqual([search.metric, search.faults], ["Requests", []]);
  const other = await test.signUp();
  await recordOne(test, (await createTestKey(test, other)).fullKey);
  assert.equal((await usagePage(test, other)).metric, "Requests");
});

testApp("the list of keys has the days of the time zone that a person chose", async (test) => {
  const person = await test.signUp();
  const { fullKey } = await createTestKey(test, person);
  await recordOne(test, fullKey, { timestamp: new Date(test.now() - 4 * 3_600_000).toISOString() });
  const trend = async () => {
    const html = await (await test.send("/portal/api-keys", { cookie: person.cookie })).text();
    return /<svg class="spark".*?<\/svg>/s.exec(html)?.[0];
  };
  const today = await trend();
  assert(today !== undefined);
  // In Auckland, midnight was three hours ago.
  const headers = { "sec-fetch-site": "same-origin" };
  const chosen = await test.send("/portal/usage?timezone=Pacific/Auckland", {
    cookie: person.cookie,
    headers,
  });
  await chosen.body?.cancel();
  await poll(async () => await trend() !== today);
});

testApp("keys say that they were revoked, and members open the pages of their own", async (test) => {
  const owner = await verifiedPerson(test, "Olive");
  const member = await joinedPerson(test, owner, "MEMBER");
  const old = await createTestKey(test, owner, { name: "Old" });
  const own = await createTestKey(test, member, { name: "Own" });
  for (const { fullKey } of [old, old, own]) await recordOne(test, fullKey);
  const names = async (person: typeof owner) =>
    (await usagePage(test, person, { stack: "key" })).keys.map(([name]) => name);
  assert.deepEqual(await names(owner), ["Old", "Own"]);
  await test.send(`/api/portal/api-keys/${old.id}`, { method: "DELETE", cookie: owner.cookie });
  assert.deepEqual(await names(member), ["OldRevoked", "Own"]);
  const { html } = await usagePage(test, member, { apiKey: own.id });
  assert.equal(hrefOf(html, "Open key"), `/portal/api-keys/${own.id}`);
  assert.doesNotMatch((await usagePage(test, member, { apiKey: old.id })).html, />Open key</);
});
