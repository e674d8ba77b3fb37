// The console's pages of statements.
import assert from "node:assert/strict";
import { testApp } from "../../../support/app/app.ts";
import { asBilling, customer } from "../../../support/meter/statements.ts";
import { voidOne } from "../../../support/meter/usage.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { run } from "../../../support/people/scene.ts";
import { textOf } from "../../../support/portal/markup.ts";
import { openPage } from "../../../support/portal/pages.ts";

const path = "/operator/statements";
const dayMs = 24 * 3_600_000;

testApp("operators preview a month, close it, and read its statement", async (test) => {
  const mara = await newOperator(test);
  const ada = await customer(test, "Ada");
  await ada.record("2026-10-25T00:00:00.000Z", { quantity: 1204.25 });
  await ada.record("2026-11-03T00:00:00.000Z", { quantity: 7 });
  const open = (address: string) => openPage(test, path + address, { person: mara });
  const list = (await open("")).html;
  assert.match(
    textOf(list),
    /Close October 2026 .*November 2026 So far 1 .* Open CSV .*October 2026 Ended, not closed yet 1 .* Open CSV/,
  );
  for (const href of [`${path}/2026-11`, `${path}/open`, `/api${path}/open.csv`, `${path}/close`]) {
    assert.ok(list.includes(`href="${href}"`), href);
  }
  const preview = await open("/open");
  // Without prices, there are no amounts.
  assert.doesNotMatch(list + preview.html, /Estimated|EUR/);
  assert.match(
    textOf(preview.html),
    /October 2026 Open October 1–31, 2026, in UTC · ended, not closed yet .*1,204\.25.*Ada’s organization/,
  );
  assert.ok(preview.html.includes(`href="${path}/close"`));
  assert.match(textOf((await open("/2026-11")).html), /November 2026 so far Open/);
  assert.match(
    (await open("/close")).html,
    /for all organizations[^]*href="\/operator\/statements\/open"[^]*value="2026-10"/,
  );
  for (const period of ["2026-11", "October"]) {
    const { status } = await openPage(test, `${path}/close`, { person: mara, form: { period } });
    assert.equal(status, period === "October" ? 422 : 409, period);
  }
  const { location } = await openPage(test, `${path}/close`, { person: mara, form: { period: "2026-10" } });
  assert.ok(location);
  assert.match(location, /^\/operator\/statements\/stm_/);
  const { html } = await openPage(test, location, { person: mara });
  assert.match(textOf(html), /October 2026 Closed October 1–31, 2026, in UTC · closed Nov 21 .*1,204\.25/);
  assert.ok(html.includes(`href="/api${location}.csv"`));
  assert.doesNotMatch(html, /\/statements\/close/);
  assert.match(textOf((await open("")).html), /November 2026 So far 1 .*October 2026 1 .* Closed CSV/);
  const noOne = `/2026-10?organizationId=org_${"0".repeat(32)}`;
  for (const unknown of ["/stm_x", "/2026-12", "/nope", noOne]) {
    assert.equal((await open(unknown)).status, 404, unknown);
  }
}, { CURRENCY: "EUR" });

testApp("a statement's page finds organizations, says what changed, and leads to lines", async (test) => {
  const { send, close } = await asBilling(test);
  const metrics = [
    { slug: "requests", name: "Requests", unitPrice: "0.004" },
    { slug: "bytes", name: "Data transfer", unit: "bytes", unitPrice: "0.00000000009" },
  ];
  await send("POST /products", { slug: "tiles", name: "Map tiles", metrics });
  // Records may be 35 days old.
  test.advance(-45 * dayMs);
  const [ada, bob] = [await customer(test, "Ada"), await customer(test, "Bob")];
  await run(test, "UPDATE organizations SET external_id = 'cus_1' WHERE id = ?", ada.organizationId);
  const voided = await ada.record("2026-09-20T00:00:00.000Z", { quantity: 1000 });
  await ada.record("2026-09-20T00:00:00.000Z", { quantity: 1000 });
  await close("2026-09");
  test.advance(45 * dayMs);
  await voidOne(test, { apiKey: ada.apiKey, id: voided.id });
  await ada.record("2026-10-20T00:00:00.000Z", { quantity: 4000.5 });
  await ada.record("2026-10-20T00:00:00.000Z", { metric: "bytes", quantity: 2_410_233_112_900 });
  await bob.record("2026-10-20T00:00:00.000Z", { quantity: 50 });
  const mara = await newOperator(test);
  const open = async (more: string) => {
    const { status, html } = await openPage(test, path + more, { person: mara });
    assert.equal(status, 200, more);
    return { html, text: textOf(html) };
  };
  for (const isClosed of [false, true]) {
    const id = isClosed ? (await close("2026-10")).id : "open";
    const { html, text } = await open(`/${id}`);
    // 3,050.5 requests of 0.004, and the bytes.
    assert.match(text, /Estimated EUR 229\.12 .*Organizations 2 1 with adjustments .*vs September/);
    assert.match(text, /Map tiles Data transfer 1 1 2\.41 TB EUR 216\.92/);
    assert.match(html, /title="EUR 229\.122980161"/);
    assert.match(html, /title="2,410,233,112,900 bytes"/);
    assert.match(text, /Ada’s organization cus_1 .*1 adjustment 3 .*3,000\.5 EUR 228\.92 \S+ more/);
    assert.match(text, /Bob’s organization .* 50 EUR 0\.20 New/);
    const lines = `/${id}?organizationId=${ada.organizationId}`;
    assert.ok(html.includes(`href="${path}${lines}"`));
    const one = await open(lines);
    assert.match(
      one.text,
      /October 2026: Ada’s organization .*Requests 1 .*4,000\.5 \S+ more 0\.004 EUR 16\.00/,
    );
    assert.match(
      one.text,
      /2\.41 TB New 90\.00 per TB .*Adjustments .*Map tiles Requests September 2026 −1 −1,000 0\.004 EUR −4\.00/,
    );
    assert.ok(one.html.includes(`/api${path}/${id}.csv?organizationId=${ada.organizationId}`));
    assert.match((await open(`/${id}?search=cus_1&sort=amount`)).text, /1 organization found for “ cus_1 ”/);
  }
  // November has nothing but what it compares with.
  assert.match((await open("/open")).text, /November 2026 so far .*No usage yet/);
  await bob.record("2026-11-10T00:00:00.000Z", { quantity: 5 });
  assert.match((await open("/open?show=adjusted")).text, /All 1 With adjustments 0 .*No adjustments/);
  assert.match((await open("/open?search=nobody")).text, /0 organizations found/);
  for (const choice of ["sort=color", "show=everything", "metric=none"]) {
    assert.match((await open(`/open?${choice}`)).html, /class="note error"/, choice);
  }
  assert.doesNotMatch((await open("/open?sort=amount&metric=requests")).html, /class="note error"/);
}, { CURRENCY: "EUR" });

testApp("the figure of a statement is the list's metric in all products", async (test) => {
  const mara = await newOperator(test);
  const ada = await customer(test, "Ada");
  await ada.record("2026-10-25T00:00:00.000Z", { quantity: 1204.25 });
  await ada.record("2026-10-25T00:00:00.000Z", { productSlug: "search", quantity: 800 });
  await ada.record("2026-10-25T00:00:00.000Z", { metric: "bytes", quantity: 10 });
  const open = async (more: string) =>
    textOf((await openPage(test, `${path}/open${more}`, { person: mara })).html);
  assert.match(await open(""), /Requests 2,004\.25 All products Organizations 1/);
  assert.match(await open("?metric=bytes"), /Bytes 10 tiles Organizations 1/);
});
