// An organization's billing page, for its members and for operators.
import assert from "node:assert/strict";
import { AppError } from "../../../domain/errors.ts";
import { testApp } from "../../support/app/app.ts";
import { asBilling, customer } from "../../support/meter/statements.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { voidOne } from "../../support/meter/usage.ts";
import { run } from "../../support/people/scene.ts";
import { newOperator } from "../../support/operators/console.ts";
import { joinedPerson } from "../../support/people/people.ts";
import { textOf } from "../../support/portal/markup.ts";
import { openPage } from "../../support/portal/pages.ts";

const path = "/portal/billing";
const dayMs = 24 * 3_600_000;

testApp("members of every role read their plan, limits, the month so far and closed months", async (test) => {
  const { send, close } = await asBilling(test);
  const metrics = [{ slug: "requests", name: "Requests", unitPrice: "0.01" }];
  await send("POST /products", { slug: "tiles", name: "Map tiles", metrics });
  // Records may be 35 days old.
  test.advance(-45 * dayMs);
  const [ada, bob] = [await customer(test, "Ada"), await customer(test, "Bob")];
  const { organizationId } = ada;
  const member = await joinedPerson(test, ada, "MEMBER");
  const show = async (person: typeof member, address = path) => {
    const { status, html } = await openPage(test, address, { person });
    assert.equal(status, 200, address);
    return { html, text: textOf(html) };
  };
  const { text } = await show(ada);
  assert.match(text, /Plan Default No usage limits .*No usage yet/);
  assert.doesNotMatch(text, /September 2026/);

  await addLimit(test, { organizationId }, { metric: "requests", per: "month", quantity: 100 });
  await ada.record("2026-09-20T00:00:00.000Z", { quantity: 30 });
  await close("2026-09");
  const late = await ada.record("2026-09-21T00:00:00.000Z", { quantity: 4 });
  test.advance(45 * dayMs);
  const operator = await newOperator(test);
  await ada.record("2026-10-20T00:00:00.000Z", { quantity: 60 });
  await close("2026-10");
  await voidOne(test, { apiKey: ada.apiKey, id: late.id });
  const mistake = await ada.record("2026-11-11T00:00:00.000Z", { quantity: 7.5 });
  await voidOne(test, { apiKey: ada.apiKey, id: mistake.id });
  await ada.record("2026-11-11T00:00:00.000Z", { quantity: 90 });
  await bob.record("2026-11-11T00:00:00.000Z", { quantity: 4321 });

  assert.ok((await show(member, "/portal")).html.includes(`href="${path}"`), "a click from the first page");
  const base = `/operator/organizations/${organizationId}/billing`;
  for (const [person, at] of [[ada, path], [member, path], [operator, base]] as const) {
    const { html, text } = await show(person, at);
    assert.match(text, /Plan Default 1 limit nearly used up November 2026 so far, estimated €0\.86/);
    assert.match(
      text,
      /On pace for €1\.27 98\.4% more vs October.* October 2026, estimated €0\.64 .*vs Oct 1–21 .*Map tiles Requests 1 .*90 50\.0% more €0\.01 per request €0\.90/,
    );
    assert.match(text, /1 adjustment Show all .*Requests per month 90 of 100/);
    assert.match(text, /October 2026 With 1 adjustment of earlier months €0\.64 CSV “October 2026”/);
    assert.doesNotMatch(text, /4,321/);
    const csv = [...html.matchAll(/href="([^"]*\.csv[^"]*)"/g)].map(([, href = ""]) =>
      href.replace("&amp;", "&")
    );
    assert.equal(csv.length, 3);
    for (const href of csv) {
      const file = await test.send(href, { cookie: person.cookie });
      assert.equal(file.status, 200, href);
    }
    const month = await show(person, `${at}/2026-11`);
    assert.match(
      month.text,
      /Estimated €0\.86 .*Adjustments .*Map tiles Requests September 2026 −1 −4 €0\.01 per request −€0\.04 Voided .*1 7\.5/,
    );
    assert.match((await show(person, `${at}/2026-10`)).text, /October 2026 Closed .*September 2026 1 \+4/);
    // The late record was voided after both months were closed.
    assert.match(
      (await show(person, `${at}/2026-09`)).text,
      /Voided Records of September .* still part of the usage/,
    );
  }
  assert.equal((await openPage(test, `${path}/2026-12`, { person: ada })).status, 404);
  // The plan's name stands next to the limits.
  assert.match((await show(member, "/portal")).text, /Limits Default plan Requests per month/);
  assert.doesNotMatch((await show(member, "/portal/usage")).text, /Limits/);
}, { CURRENCY: "EUR", SESSION_MAX_DAYS: "90", SESSION_IDLE_DAYS: "90" });

testApp("pages of statements say that a month is being closed, and that numbers are late", async (test) => {
  const ada = await customer(test, "Ada");
  const mara = await newOperator(test);
  await ada.record("2026-10-20T00:00:00.000Z", { quantity: 60 });
  const { close } = await asBilling(test);
  const { id } = await close("2026-10");
  const text = async (address: string) => {
    const { status, html } = await openPage(test, address, { person: mara });
    assert.equal(status, 200, address);
    return textOf(html);
  };
  const base = `/operator/organizations/${ada.organizationId}/billing`;
  const months = [
    "/operator/statements/2026-11",
    `/operator/statements/2026-11?organizationId=${ada.organizationId}`,
  ];
  const { reports } = test.services;
  const read = reports.read;
  reports.read = () => {
    throw new AppError("unavailable", "Busy.");
  };
  assert.match(
    await text(base),
    /November 2026 so far – Not available right now .*Limits|Not available right now/,
  );
  for (const address of [...months, `${base}/2026-11`, `/operator/statements/${id}`]) {
    assert.match(await text(address), /still being added up/, address);
  }
  assert.match(await text("/operator/statements"), /October 2026 – – UTC Nov 21 Closed/);
  reports.read = read;
  await run(
    test,
    `INSERT INTO statements (number, id, period, timezone, start_at, end_at, status, progress, created_at)
      SELECT 2, 'stm_2', '2026-11', 'UTC', end_at, end_at + 30 * 86400000, 'closing', 0, 0 FROM statements`,
  );
  for (const address of [...months, `${base}/2026-11`]) {
    assert.match(await text(address), /November 2026.* Closing .*is being closed/, address);
    assert.doesNotMatch(await text(address), /CSV/, address);
  }
  assert.match(await text("/operator/statements"), /November 2026 – – UTC Not yet Closing October/);
  assert.match(await text(base), /November 2026 Being closed/);
});
