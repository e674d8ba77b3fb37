// The usage page: addresses, exact numbers, and what the tests of its routes don't look at.
import assert from "node:assert/strict";
import { type UsageAddress, usageHref } from "../../../views/meter/usage_address.ts";
import { createTestKey, testApp } from "../../support/app/app.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { recordOne } from "../../support/meter/usage.ts";
import { openPage } from "../../support/portal/pages.ts";
import { hrefOf, usagePage } from "../../support/portal/usage_page.ts";

const address: UsageAddress = {
  path: "/portal/usage",
  range: "month",
  days: { from: "2026-11-01", to: "2026-11-30" },
  window: "week",
  compare: "previous",
  comparedDays: { from: "2026-10-01", to: "2026-10-31" },
  timezone: "Europe/Berlin",
  filters: { productSlug: "a b", metric: "requests", apiKey: null },
  stack: null,
  page: null,
  hasNumbers: false,
};

Deno.test("usageHref() includes every filter and omits defaults", () => {
  assert.equal(
    usageHref(address),
    "/portal/usage?range=month&window=week&timezone=Europe%2FBerlin&productSlug=a+b&metric=requests",
  );
  const plain = { productSlug: null, metric: null, apiKey: null };
  assert.equal(
    usageHref({ ...address, range: "custom", window: null, timezone: null, filters: plain }),
    "/portal/usage?range=custom&from=2026-11-01&to=2026-11-30",
  );
  const compared = { ...address, window: null, timezone: null, filters: plain, compare: "custom" } as const;
  assert.equal(
    usageHref(compared),
    "/portal/usage?range=month&compare=custom&compareFrom=2026-10-01&compareTo=2026-10-31",
  );
});

testApp("the usage page lists time zones by continent, UTC first", async (test) => {
  const person = await test.signUp();
  await recordOne(test, (await createTestKey(test, person)).fullKey);
  const { html } = await usagePage(test, person);
  const [select = ""] = /<select [^>]*name="timezone".*?<\/select>/s.exec(html) ?? [];
  assert.match(select, /^<select[^>]*><option value="UTC"[^>]*>UTC<\/option><optgroup label="Africa">/);
  assert.match(
    select,
    /<optgroup label="America">.*<option value="America\/Indiana\/Knox" >Indiana\/Knox</,
  );
});

testApp(
  "the usage page has a description of its chart, metrics to choose, and refreshes itself less often with many bars",
  async (test) => {
    const person = await test.signUp();
    await recordOne(test, (await createTestKey(test, person)).fullKey, { quantity: 1_200.5 });
    const { html, numbers } = await usagePage(test, person, { range: "7d" });
    assert.match(html, /<svg role="img" aria-label="[^"]*The table below has the same numbers\.">/);
    assert.match(html, /<nav [^>]*aria-label="Metric">/);
    assert.match(html, /aria-label="Usage by"><a href="[^"]*" aria-current="page">Product /);
    assert.match(html, /<a class="button plain" href="\/api\/portal\/usage\.csv\?[^"]*" hx-boost="false">/);
    assert.match(html, /class="live" hx-get="\/portal\/usage\?range=7d"[^>]*hx-trigger="every 10s"/);
    assert.equal(numbers.at(-1)?.at(-1), "1,200.5");
    const many = await usagePage(test, person, {
      range: "custom",
      from: "2026-10-22",
      to: "2026-11-21",
      window: "hour",
    });
    assert.match(many.html, /hx-trigger="every 60s"/);
  },
);

testApp("the usage page shows exact quantities, and what the operator recorded and voided", async (test) => {
  const person = await test.signUp();
  const { fullToken: apiKey } = await newOperatorToken(test);
  const records = [{
    organizationId: person.organizationId,
    productSlug: "tiles",
    metric: "requests",
    quantity: 9007199.000001,
  }];
  const response = await test.send("/api/operator/usage", { apiKey, json: { records } });
  assert.equal(response.status, 201, await response.clone().text());
  const page = () => usagePage(test, person, { timezone: "Europe/Berlin" });
  const before = await page();
  assert.match(before.html, /9,007,199\.000001/);
  const { html: byKey } = await usagePage(test, person, { stack: "key" });
  assert.match(byKey, /<div class="name"><bdi>Recorded by the operator<\/bdi>/);
  const { usageRecords: [record] } = await (await test.send("/api/operator/usage/records", { apiKey }))
    .json();
  const voiding = { apiKey, json: { reason: "Twice" } };
  assert.equal((await test.send(`/api/operator/usage/records/${record.id}/void`, voiding)).status, 200);
  const { html } = await openPage(test, hrefOf(before.html, "Open records"), { person });
  assert.match(html, /Voided.*by the operator.*Twice/);
});
