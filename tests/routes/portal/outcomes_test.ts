// What pages say of requests with a key: its page to its members, and the organization's page to operators. Two clicks lead there.
import assert from "node:assert/strict";
import { createTestKey, rotateTestKey, testApp } from "../../support/app/app.ts";
import { newOperator } from "../../support/operators/console.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { recordWith } from "../../support/meter/usage.ts";
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
    assert.match(await open(path), /Requests by outcome[^]*None/);
    const { organizationId } = ada;
    await addLimit(test, { organizationId }, { ...tiles, per: "day", quantity: 5, mode: "hard", by: "user" });
    await addLimit(test, { apiKeyId: own.id }, { ...tiles, per: "month", quantity: 2, mode: "hard" });
    await recordWith(test, fullKey, { quantity: 5, properties: { user: "u-<1>" } });
    const rejected = await recordWith(test, fullKey, { quantity: 1, properties: { user: "u-<1>" } });
    const requestId = rejected.headers.get("x-request-id");
    await recordWith(test, fullKey, { quantity: -1 });
    await recordWith(test, own.fullKey, { quantity: 3 });
    await test.services.requestOutcomes.flush();

    const [, card = ""] = /Requests by outcome<([^]*?)<\/section>/.exec(await open(path)) ?? [];
    for (const outcome of ["accepted", "limit_exceeded", "invalid"] as const) {
      assert.match(card, new RegExp(`<dt>${outcomeWords[outcome]}</dt><dd>1</dd>`));
    }
    const limit = `<a href="/portal/billing">tiles · Requests per day per user</a>: <bdi>${escaped}</bdi>`;
    assert.ok(card.includes(limit), card);
    assert.ok(card.includes(`>${requestId}</code>`));
    assert.ok(card.includes("“quantity”: must be from 0"));
    // The page shows a key's budget itself.
    assert.match(
      await open(`/portal/api-keys/${own.id}`),
      /<span class="second">tiles · Requests per month<\/span>/,
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
