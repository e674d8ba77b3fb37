// What pages say of requests with a key: its page to its members, and the organization's page to operators. Two clicks lead there.
import assert from "node:assert/strict";
import { createTestKey, rotateTestKey, type TestApp, testApp } from "../../support/app/app.ts";
import { newOperator } from "../../support/operators/console.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { recordWith } from "../../support/meter/usage.ts";
import { hrefOf, usagePage } from "../../support/portal/usage_page.ts";
import { joinedPerson } from "../../support/people/people.ts";
import { openPage } from "../../support/portal/pages.ts";
import { outcomeWords } from "../../../views/text/outcome.ts";

const tiles = { productSlug: "tiles", metric: "requests" };
const escaped = "u-&lt;1&gt;";

testApp(
  "a key's page says what became of its requests, why, by which limit and for which value",
  async (test) => {
    const ada = await test.signUp("Ada");
    const { id, fullKey } = await createTestKey(test, ada);
    const own = await createTestKey(test, ada, { name: "Own" });
    const path = `/portal/api-keys/${id}`;
    const open = async (path: string) => (await openPage(test, path, { person: ada })).html;
    assert.doesNotMatch(await open(path), /Last rejected requests/);
    const { organizationId } = ada;
    await addLimit(test, { organizationId }, { ...tiles, per: "day", quantity: 5, mode: "hard", by: "user" });
    await addLimit(test, { apiKeyId: own.id }, { ...tiles, per: "month", quantity: 2, mode: "hard" });
    await recordWith(test, fullKey, { quantity: 5, properties: { user: "u-<1>" } });
    const rejected = await recordWith(test, fullKey, { quantity: 1, properties: { user: "u-<1>" } });
    const requestId = rejected.headers.get("x-request-id");
    await recordWith(test, fullKey, { quantity: -1 });
    await recordWith(test, own.fullKey, { quantity: 3 });
    await test.services.requestOutcomes.flush();

    const { html: byOutcome, tabs, outcomes } = await usagePage(test, ada, `${path}?stack=outcome`);
    assert.deepEqual(tabs, ["Product 1", "Outcome 3"]);
    assert.deepEqual(
      outcomes.map(([name, count]) => [name, count]),
      (["accepted", "limit_exceeded", "invalid"] as const).map((one) => [outcomeWords[one], "1"]).toSorted(),
    );
    const [, card = ""] = /Last rejected requests<([^]*?)<\/section>/.exec(byOutcome) ?? [];
    const limit = `<a href="/portal/billing">tiles · Requests per day per user</a>: <bdi>${escaped}</bdi>`;
    assert.ok(card.includes(limit), card);
    assert.ok(card.includes(`>${requestId}</code>`));
    assert.ok(card.includes("“quantity”: must be from 0"));
    // The page shows a key's budget itself.
    assert.match(
      await open(`/portal/api-keys/${own.id}`),
      /<span class="second">tiles · Requests per month · <code/,
    );

    // Those of a key that was replaced are on the page of the new one.
    const rotated = await rotateTestKey(test, ada, { id });
    assert.ok((await open(`/portal/api-keys/${rotated.id}`)).includes(`>${requestId}</code>`));
    const member = await joinedPerson(test, ada, "MEMBER");
    const stranger = await test.signUp();
    for (const person of [member, stranger]) {
      assert.equal(
        (await openPage(test, path, { person })).status,
        404,
      );
    }
  },
);

testApp("an organization's page names the keys of the last rejected requests to operators", async (test) => {
  const mara = await newOperator(test, "Mara");
  const [ada, other] = [await test.signUp("Ada"), await test.signUp("Other")];
  const { id, fullKey } = await createTestKey(test, ada, { name: "Production <1>" });
  await addLimit(test, {}, { ...tiles, per: "day", quantity: 0, mode: "hard" });
  const rejected = await recordWith(test, fullKey, { quantity: 1 });
  assert.equal(rejected.status, 429);
  await test.services.requestOutcomes.flush();
  const cardOf = async ({ organizationId }: typeof ada) => {
    const { html } = await openPage(test, `/operator/organizations/${organizationId}`, { person: mara });
    return /Rejected requests<([^]*?)<\/section>/.exec(html)?.[1] ?? "";
  };
  const card = await cardOf(ada);
  const keyPath = `/operator/organizations/${ada.organizationId}/api-keys/${id}`;
  assert.ok(
    card.includes(`<a href="${keyPath}"><bdi>Production &lt;1&gt;</bdi></a> · tiles · Requests per day`),
    card,
  );
  assert.ok(card.includes(`<dt>${outcomeWords.limit_exceeded}</dt><dd>1</dd>`));
  assert.ok(card.includes(`>${rejected.headers.get("x-request-id")}</code>`));
  assert.doesNotMatch(await cardOf(other), /Over a limit|Production/);
  const { html } = await openPage(test, keyPath, { person: mara });
  const href = `/operator/organizations/${ada.organizationId}/limits`;
  assert.ok(html.includes(`<a href="${href}">tiles · Requests per day</a>`));
});

/** An organization with a live and a test key, and a limit of 1 request that each was over once. */
async function outcomeScene(test: TestApp) {
  const ada = await test.signUp("Ada");
  const live = await createTestKey(test, ada, { name: "Live" });
  const other = await createTestKey(test, ada, { name: "Other" });
  const staging = await createTestKey(test, ada, { name: "Staging", environment: "test" });
  await addLimit(test, {}, { ...tiles, per: "day", quantity: 1, mode: "hard" });
  await recordWith(test, live.fullKey, { quantity: 1 });
  await recordWith(test, live.fullKey, { quantity: 1 });
  await recordWith(test, other.fullKey, { quantity: 1 });
  await recordWith(test, other.fullKey, { quantity: -1 });
  await recordWith(test, staging.fullKey, { quantity: -1 });
  await recordWith(test, staging.fullKey, { quantity: 1 });
  await test.services.requestOutcomes.flush();
  return { ada, live, other, staging };
}

testApp("the usage page counts requests by outcome, for all keys or for one, live or test", async (test) => {
  const { ada, other } = await outcomeScene(test);
  const first = await usagePage(test, ada);
  assert.deepEqual(first.tabs, ["Product 1", "API key 1", "Outcome 3"]);
  // One click from usage to what was rejected, and why.
  const rejected = await usagePage(test, ada, hrefOf(first.html, "3 rejected requests"));
  assert.deepEqual(rejected.outcomes, [
    [outcomeWords.limit_exceeded, "2", "66.7%", "New"],
    [outcomeWords.invalid, "1", "33.3%", "New"],
  ]);
  assert.equal(rejected.metric, null);
  assert.deepEqual(rejected.numbers.at(-1)?.slice(1), ["2", "1", "3"]);
  assert.match(rejected.html, /Last rejected requests<[^]*Live<[^]*tiles · Requests per day/);
  assert.doesNotMatch(rejected.html, /Staging|usage\.csv/);
  const chip = /<a class="chip" href="([^"]+)"[^>]*Outcome: Rejected"/.exec(rejected.html)?.[1] ?? "";
  const all = await usagePage(test, ada, chip.replaceAll("&amp;", "&"));
  assert.deepEqual(all.outcomes.map(([name]) => name), [
    outcomeWords.limit_exceeded,
    outcomeWords.accepted,
    outcomeWords.invalid,
  ]);
  const one = await usagePage(test, ada, hrefOf(all.html, outcomeWords.invalid));
  assert.deepEqual(one.outcomes, [[outcomeWords.invalid, "1", "100%", "New"]]);
  // A metric leads back to usage.
  const metricHref = (/<a class="figure" href="([^"]+)"/.exec(one.html)?.[1] ?? "").replaceAll("&amp;", "&");
  assert.deepEqual((await usagePage(test, ada, metricHref)).tabs, first.tabs);
  const ofKey = await usagePage(test, ada, { stack: "outcome", apiKey: other.id });
  assert.deepEqual(ofKey.outcomes.map(([, count]) => count), ["1", "1"]);
  const ofTest = await usagePage(test, ada, { stack: "outcome", environment: "test" });
  assert.deepEqual(ofTest.outcomes.map(([name]) => name), [outcomeWords.accepted, outcomeWords.invalid]);
  assert.match(ofTest.html, /Last rejected requests<[^]*Staging/);
});

testApp("the usage page says where outcomes are not known", async (test) => {
  const { ada } = await outcomeScene(test);
  const byProduct = await usagePage(test, ada, { stack: "outcome", productSlug: "tiles" });
  assert.deepEqual(byProduct.outcomes, []);
  assert.match(byProduct.faults.join(), /^stack: Choose one organization, and no product/);
  const days = { range: "custom", from: "2026-01-01", to: "2026-01-31" };
  const old = await usagePage(test, ada, { ...days, stack: "outcome" });
  assert.match(old.html, /No requests in this range<[^]*kept for 90 days/);
  assert.deepEqual(old.tabs, ["Product 0", "API key 0", "Outcome 0"]);
});

testApp("a replaced key's outcomes are counted with those of the new one", async (test) => {
  const { ada, other } = await outcomeScene(test);
  const rotated = await rotateTestKey(test, ada, { id: other.id });
  await recordWith(test, rotated.fullKey, { quantity: -1 });
  await test.services.requestOutcomes.flush();
  const { outcomes, html } = await usagePage(test, ada, { stack: "outcome", apiKey: rotated.id });
  assert.deepEqual(outcomes.map(([, count]) => count), ["2", "1"]);
  assert.equal(html.match(/<code class="pick tiny">req_/g)?.length, 3);
});

testApp("the console's usage page counts outcomes of one organization", async (test) => {
  const mara = await newOperator(test, "Mara");
  const { ada, live } = await outcomeScene(test);
  const stranger = await test.signUp("Eve");
  const open = (organizationId?: string) =>
    usagePage(
      test,
      mara,
      `/operator/usage?stack=outcome${organizationId ? `&organizationId=${organizationId}` : ""}`,
    );
  const { outcomes, html } = await open(ada.organizationId);
  assert.deepEqual(outcomes.map(([, count]) => count), ["2", "1", "1"]);
  const keyPath = `/operator/organizations/${ada.organizationId}/api-keys/${live.id}`;
  assert.ok(html.includes(`<a href="${keyPath}"><bdi>Live</bdi></a> · tiles · Requests per day`));
  const all = await open();
  assert.deepEqual(all.outcomes, []);
  assert.match(all.faults.join(), /^stack: Choose one organization/);
  const others = await open(stranger.organizationId);
  assert.deepEqual(others.outcomes, []);
  assert.ok(!others.html.includes(outcomeWords.limit_exceeded));
});
