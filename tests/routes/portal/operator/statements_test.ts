// The console's pages of statements.
import assert from "node:assert/strict";
import { testApp, type TestPerson } from "../../../support/app/app.ts";
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
  // The first month to close may be another one.
  assert.match(
    textOf((await open("/close")).html),
    /Organizations in October 2026 1 With adjustments in October 2026 0/,
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
  assert.match(
    textOf(html),
    /October 2026 has been closed for 1 organization\. .*Download the CSV to bill by it/,
  );
  const address = location.replace("?done=closed", "");
  assert.ok(html.includes(`href="/api${address}.csv"`));
  assert.doesNotMatch((await openPage(test, address, { person: mara })).html, /has been closed/);
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
  assert.match(
    (await open("/close")).text,
    /Organizations 2 Estimated €229\.12 With adjustments 1 .*Changed by more than half 2 organizations .*vs September Ada’s organization €228\.92 28× more Bob’s organization €0\.20 New/,
  );
  for (const isClosed of [false, true]) {
    const id = isClosed ? (await close("2026-10")).id : "open";
    const { html, text } = await open(`/${id}`);
    // 3,050.5 requests of 0.004, and the bytes.
    assert.match(text, /Estimated €229\.12 .*Organizations 2 1 with adjustments .*vs September/);
    assert.match(text, /Map tiles 2 €229\.12 Data transfer 1 1 2\.41 TB €216\.92/);
    assert.match(html, /title="EUR 229\.122980161"/);
    assert.match(html, /title="2,410,233,112,900 bytes"/);
    assert.match(text, /Ada’s organization cus_1 .*1 adjustment 3 .*3,000\.5 €228\.92 \S+ more/);
    assert.match(text, /Bob’s organization .* 50 €0\.20 New/);
    const lines = `/${id}?organizationId=${ada.organizationId}`;
    assert.ok(html.includes(`href="${path}${lines}"`));
    const one = await open(lines);
    assert.match(
      one.text,
      /October 2026: Ada’s organization .*Requests 1 .*4,000\.5 \S+ more €0\.004 per request €16\.00/,
    );
    assert.match(
      one.text,
      /2\.41 TB New €90\.00 per TB .*Adjustments .*Map tiles Requests September 2026 −1 −1,000 €0\.004 per request −€4\.00/,
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

testApp("a running month is compared with as many days of the last one, and forecast", async (test) => {
  const { send, close } = await asBilling(test);
  const metrics = [
    { slug: "requests", name: "Requests", unitPrice: "0.01" },
    { slug: "peak", name: "Peak", unitPrice: "1", aggregation: "max" },
  ];
  await send("POST /products", { slug: "tiles", name: "Map tiles", metrics });
  await send("POST /products", { slug: "routes", name: "Routes", metrics: metrics.slice(0, 1) });
  test.advance(-21 * dayMs);
  const [ada, bob] = [await customer(test, "Ada"), await customer(test, "Bob")];
  // On October 31.
  await ada.record("2026-10-10T00:00:00.000Z", { quantity: 1_000 });
  await ada.record("2026-10-30T00:00:00.000Z", { quantity: 9_000 });
  await bob.record("2026-10-30T00:00:00.000Z", { quantity: 9_000 });
  test.advance(21 * dayMs);
  const operator = await newOperator(test);
  await close("2026-10");
  // An adjustment of October, which is no usage of November.
  await bob.record("2026-10-25T00:00:00.000Z", { quantity: 400 });
  await ada.record("2026-11-10T00:00:00.000Z", { quantity: 1_500 });
  await ada.record("2026-11-10T00:00:00.000Z", { productSlug: "routes", quantity: 2_000.000001 });
  await ada.record("2026-11-10T00:00:00.000Z", { metric: "peak", quantity: 7 });
  await bob.record("2026-11-10T00:00:00.000Z", { quantity: 100 });
  const text = async (address: string, person: TestPerson = ada) =>
    textOf((await openPage(test, address, { person })).html);
  const part =
    /so far, estimated €42\.00 320% more vs Oct 1–21 On pace for €58\.00 42\.0% less vs October, at the current rate/;
  for (const address of ["/portal/billing", "/portal/billing/2026-11"]) {
    const page = await text(address);
    if (address === "/portal/billing") assert.match(page, part);
    assert.match(
      page,
      /vs Oct 1–21 Unit price Estimated Map tiles 2 €22\.00 Requests 1 1,500 50\.0% more €0\.01 per request €15\.00 Peak · Largest .* 1 7 New €1\.00 €7\.00 Routes Requests 1 2,000\.000001 New €0\.01 per request €20\.00 Total 3 €42\.00/,
      address,
    );
  }
  const all = await text(`${path}/open`, operator);
  assert.match(all, /Estimated €47\.00 330% more vs Oct 1–21 On pace for €\d\d\.\d\d \S+ less vs October/);
  assert.match(all, /Ada’s organization .*€42\.00 320% more/);
  assert.match(all, /Bob’s organization .*€5\.00 –/);
  const json = await send("GET /statements/open");
  assert.doesNotMatch(JSON.stringify(json), /steady|parts/);
}, { CURRENCY: "EUR", SESSION_IDLE_DAYS: "90", SESSION_MAX_DAYS: "90" });
