// The list of API keys, with statuses, actions and addresses.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { sendRow } from "../../support/app/rows.ts";
import { recordOne } from "../../support/meter/usage.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { joinedPerson } from "../../support/people/people.ts";
import { newKeys } from "../../support/people/scene.ts";
import { openPage } from "../../support/portal/pages.ts";

const path = "/portal/api-keys";
const dayMs = 24 * 3_600_000;

async function listOf(test: TestApp, person: TestPerson, query = ""): Promise<string> {
  return (await openPage(test, path + query, { person })).html.replaceAll("&amp;", "&");
}

testApp("the list says when keys were used, expire and ended, in the table and on cards", async (test) => {
  const ada = await test.signUp();
  const used = await createTestKey(test, ada, { name: "Used" });
  await recordOne(test, used.fullKey);
  const expiresAt = new Date(test.now() + 6 * dayMs).toISOString();
  await createTestKey(test, ada, { name: "Expiring", expiresAt });
  const revoked = await createTestKey(test, ada, { name: "Revoked" });
  await createTestKey(test, ada, { name: "Expired", expiresAt: new Date(test.now() + 60_000).toISOString() });
  await sendRow(test, ada, `DELETE /api${path}/${revoked.id}`);
  const expireOldAt = new Date(test.now() + dayMs).toISOString();
  await sendRow(test, ada, `POST /api${path}/${used.id}/rotate`, { expireOldAt });
  test.advance(120_000);
  const html = await listOf(test, ada);
  assert.match(html, /title="Nov 21, 2026, 14:03:11 UTC"><span class="on-card">Last request 2 minutes ago</);
  assert.match(html, /<span class="badge soon"><span class="on-card">Expires <\/span><time[^>]*>in 6 days</);
  assert.match(html, /Old key stops <time[^>]*>in 23 hours</);
  assert.match(html, /<span class="on-card">No requests<\/span>/);
  const ended = await listOf(test, ada, "?status=inactive");
  assert.match(ended, /Revoked <time[^>]*>/);
  assert.match(ended, /Expired <time[^>]*>/);
  assert.doesNotMatch(ended, /row-menu/);
});

testApp("each line has one menu of actions, and only managers may set budgets", async (test) => {
  const ada = await test.signUp();
  const member = await joinedPerson(test, ada, "MEMBER");
  const { id } = await createTestKey(test, member);
  await createTestKey(test, ada);
  const html = await listOf(test, ada);
  assert.equal(html.match(/<details class="menu row-menu end" name="menu">/g)?.length, 2);
  const actionsOf = (list: string) =>
    [...list.matchAll(new RegExp(`href="${path}/${id}/(\\w+)"`, "g"))].map(([, action]) => action);
  assert.deepEqual(actionsOf(html), ["edit", "budget", "rotate", "revoke"]);
  assert.deepEqual(actionsOf(await listOf(test, member)), ["edit", "rotate", "revoke"]);
});

testApp("the links of the list keep its other choices", async (test) => {
  const ada = await test.signUp();
  await newKeys(test, ada.organizationId, 120);
  const html = await listOf(test, ada, "?search=Key&sort=usage&page=2");
  for (
    const address of [
      "?status=expiring&search=Key",
      "?search=Key&sort=name",
      "?search=Key&sort=usage",
      "?search=Key&sort=usage&page=3",
      "?sort=usage",
    ]
  ) assert.ok(html.includes(`href="${path}${address}"`), address);
  assert.match(html, /<th[^>]* aria-sort="descending"><a href="[^"]*sort=usage">/);
  assert.match(html, /<input type="hidden" name="sort" value="usage"/);
  assert.match(html, /51–100 of 120 active keys/);
});

testApp("the heading names the metric if all keys have the same", async (test) => {
  const ada = await test.signUp();
  const { fullToken: apiKey } = await newOperatorToken(test);
  const metrics = [{ slug: "bytes", name: "Transfer", unit: "bytes" }];
  const product = { slug: "tiles", name: "Tiles", metrics };
  assert.equal((await test.send("/api/operator/products", { apiKey, json: product })).status, 201);
  const record = async (metric: string) => {
    const { fullKey } = await createTestKey(test, ada);
    await recordOne(test, fullKey, { metric, quantity: 2_000 });
  };
  const heading = async () =>
    /<th[^>]*><a[^>]*>([^<]*), 30 days</.exec(await listOf(test, ada, "?sort=usage"))?.[1];
  await record("bytes");
  assert.equal(await heading(), "Transfer");
  await record("requests");
  assert.equal(await heading(), "Usage");
});
