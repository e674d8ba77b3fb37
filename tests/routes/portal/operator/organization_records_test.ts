// The console's pages of an organization's usage records.
import assert from "node:assert/strict";
import { createTestKey, testApp } from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { recordOne } from "../../../support/meter/usage.ts";

testApp("operators find a record and void it with a reason", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada");
  const grace = await test.signUp("Grace");
  const { fullKey } = await createTestKey(test, ada);
  await recordOne(test, fullKey, { quantity: 4711, idempotencyKey: "order-1" });
  await recordOne(test, fullKey, { quantity: 17 });
  const path = `/operator/organizations/${ada.organizationId}/records`;
  const open = (page: string, form?: Record<string, string>) =>
    openPage(test, page, { person: mara, ...(form && { form }) });
  assert.match((await open(path)).html, /4,711/);
  const { html } = await open(`${path}?idempotencyKey=order-1`);
  assert.doesNotMatch(html, />17</);
  const [page = ""] = /\/operator\/[^"]+\/void/.exec(html) ?? [];
  assert.match((await open(page)).html, /Ada’s organization[^]*4,711 requests[^]*order-1/);
  const ofGrace = page.replace(ada.organizationId, grace.organizationId);
  assert.equal((await open(ofGrace)).status, 404);
  assert.equal((await open(ofGrace, { reason: "No" })).status, 404);
  assert.equal((await open(page, { reason: " " })).status, 422);
  assert.match((await open(page, { reason: "Sent <twice>" })).location ?? "", /done=voided/);
  const after = (await open(`${path}?idempotencyKey=order-1`)).html;
  assert.ok(after.includes(mara.userId));
  assert.match(after, /Voided[^]*Sent &lt;twice&gt;/);
  assert.doesNotMatch(after, /\/void"/);
});
