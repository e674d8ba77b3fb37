// The pages of alerts, without scripts.
import assert from "node:assert/strict";
import { createTestKey, testApp } from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { recordOne } from "../../../support/meter/usage.ts";
import { hrefOf, usagePage } from "../../../support/portal/usage_page.ts";
import { textOf } from "../../../support/portal/markup.ts";
import { joinedPerson } from "../../../support/people/people.ts";

const path = "/portal/alerts";
const value = (html: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1];

testApp(
  "the usage page leads to an alert for what it shows, which is added, changed and deleted",
  async (test) => {
    const person = await test.signUp("Ada");
    const { id, fullKey } = await createTestKey(test, person);
    await recordOne(test, fullKey, { quantity: 80 });
    const filtered = await usagePage(test, person, { productSlug: "tiles", metric: "requests", apiKey: id });
    const href = hrefOf(filtered.html, "Notify me when…");
    assert.equal(href, `${path}/new?productSlug=tiles&metric=requests&apiKey=${id}`);
    const { html } = await openPage(test, href, { person });
    assert.deepEqual([value(html, "productSlug"), value(html, "metric")], ["tiles", "requests"]);
    assert.match(html, new RegExp(`<option value="${id}" selected`));

    const form = { productSlug: "tiles", metric: "requests", per: "day", notifyAt: "50, 100%", apiKeyId: id };
    const rejected = await openPage(test, `${path}/new`, {
      person,
      form: { ...form, quantity: "", notifyAt: "x" },
    });
    assert.equal(rejected.status, 422);
    assert.match(rejected.html, /id="quantity-error"/);
    assert.match(rejected.html, /id="notifyAt-error".*different whole percentages/s);
    assert.equal(value(rejected.html, "notifyAt"), "x");
    const added = await openPage(test, `${path}/new`, { person, form: { ...form, quantity: "1,000.5" } });
    assert.equal(added.location, `${path}?done=added`);
    const list = await openPage(test, added.location ?? "", { person });
    const words = textOf(list.html);
    assert.match(words, /Alert added\./);
    assert.match(words, /tiles · requests per day.*Production.*7%.*80 of 1,000\.5.*50, 100%/is);

    const edit = hrefOf(list.html, "Edit");
    const shown = (await openPage(test, edit, { person })).html;
    assert.deepEqual([value(shown, "quantity"), value(shown, "notifyAt")], ["1,000.5", "50, 100"]);
    const change = { ...form, apiKeyId: "", quantity: "160", notifyAt: "" };
    assert.equal((await openPage(test, edit, { person, form: change })).location, `${path}?done=changed`);
    const changed = textOf((await openPage(test, path, { person })).html);
    assert.match(changed, /50%.*80 of 160.*80, 100%/s);
    assert.doesNotMatch(changed, /Production/);

    const member = await joinedPerson(test, person, "MEMBER");
    const seen = await openPage(test, path, { person: member });
    assert.match(textOf(seen.html), /80 of 160/);
    assert.doesNotMatch(seen.html, /\/(new|edit|delete|webhooks)"/);
    assert.match((await usagePage(test, member)).html, /href="\/portal\/alerts"/);

    const mara = await newOperator(test);
    const ofOrganization = `/operator/organizations/${person.organizationId}/alerts`;
    const operated = await openPage(test, ofOrganization, { person: mara });
    assert.match(
      operated.html,
      /class="organization-head"[^]*aria-current="page">Limits[^]*Notify the organization/,
    );

    const remove = edit.replace(/edit$/, "delete");
    assert.equal((await openPage(test, remove, { person, form: {} })).location, `${path}?done=deleted`);
    assert.match(textOf((await openPage(test, path, { person })).html), /No alerts yet/);
  },
);

testApp("an unknown key in the address is a notice, and a full list says so", async (test) => {
  const person = await test.signUp("Ada");
  const unknown = await openPage(test, `${path}/new?apiKey=key_none&metric=<b>`, { person });
  assert.equal(unknown.status, 200);
  assert.match(textOf(unknown.html), /Key not found\. Choose another one\./);
  const form = { per: "month", quantity: "1" };
  for (let n = 0; n < 20; n++) await openPage(test, `${path}/new`, { person, form });
  const full = await openPage(test, `${path}/new`, { person, form });
  assert.equal(full.status, 409);
  assert.match(textOf(full.html), /at most 20 alerts/);
});
