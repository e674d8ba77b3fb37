// The console's list of organizations, and the form that creates one.
import assert from "node:assert/strict";
import { consolePageItemsMax } from "../../../../domain/limits.ts";
import { testApp, type TestPerson } from "../../../support/app/app.ts";
import { assertRows, sendRow } from "../../../support/app/rows.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { newOrganization } from "../../../support/people/scene.ts";
import { joinedPerson } from "../../../support/people/people.ts";

const list = "/operator/organizations";
const names = (html: string) =>
  [...html.matchAll(/<a class="name"[^>]*>\s*<bdi>([^<]*)<\/bdi>/g)].map(([, name]) => name);
const linkTo = (html: string, words: string) =>
  new RegExp(`href="([^"]*)"[^>]*>\\s*${words}`).exec(html)?.[1]?.replaceAll("&amp;", "&") ?? "";

testApp("operators search, filter, sort and page through organizations", async (test) => {
  const mara: TestPerson = await newOperator(test, "Mara");
  const page = async (query = "") => (await openPage(test, `${list}${query}`, { person: mara })).html;
  for (const name of ["Northwind Maps", "Halden Logistics", "Aurelia Parcel"]) {
    await newOrganization(test, name);
    test.advance(1);
  }
  const own = "Mara’s organization";
  assert.deepEqual(names(await page()), ["Aurelia Parcel", "Halden Logistics", "Northwind Maps", own]);
  assert.deepEqual(names(await page("?sort=name")), [
    "Aurelia Parcel",
    "Halden Logistics",
    own,
    "Northwind Maps",
  ]);
  assert.deepEqual(names(await page("?search=log")), ["Halden Logistics"]);
  assert.match(await page("?status=suspended"), /No suspended organizations/);
  const unknown = await page("?status=over_limit&limits=x&plan=x&metric=x&sort=x&page=x");
  assert.equal(names(unknown).length, 4);
  for (
    const problem of [
      "Unknown status “over_limit”; showing all.",
      "Unknown limits “x”; showing all.",
      "Unknown plan “x”; showing all.",
      "Unknown metric “x”; nothing was recorded.",
      "Unknown sort “x”; sorted by usage.",
      "Unknown page “x”; showing the first.",
    ]
  ) assert.ok(unknown.includes(problem), problem);

  for (let n = 0; n < consolePageItemsMax; n++) await newOrganization(test, `Customer ${n}`);
  assert.match(await page("?search=customer"), /25 organizations found for /);
  const first = await page("?sort=name");
  assert.match(first, /1–25 of 29</);
  assert.equal(names(first).length, consolePageItemsMax);
  const next = linkTo(first, "Next");
  assert.equal(next, `${list}?sort=name&page=2`);
  const second = await page(next.replace(list, ""));
  assert.match(second, /26–29 of 29</);
  assert.equal(new Set([...names(first), ...names(second)]).size, 29);
  assert.equal(linkTo(second, "Previous"), `${list}?sort=name`);
});

testApp(
  "the list shows usage, its change and share, and who is rejected, above the plan or near a limit",
  async (test) => {
    const mara = await newOperator(test, "Mara");
    const { fullToken } = await newOperatorToken(test);
    const send = asOperator(test, fullToken);
    const page = async (query = "") => (await openPage(test, `${list}${query}`, { person: mara })).html;
    const textOf = (html: string) =>
      html.replaceAll(/<[^>]*>/g, " ").replaceAll("\u2060", "").replaceAll(/\s+/g, " ");
    const limit = { productSlug: null, metric: "requests", per: "month", quantity: 100, mode: "soft" };
    const { plan } = (await send("POST /plans", { name: "Small", limits: [limit] })).body;
    const used = { Over: 100, Near: 80, Below: 50 };
    const timestamp = new Date(test.now() - 32 * 86_400_000).toISOString();
    for (const [name, quantity] of Object.entries(used)) {
      const { organization } = (await send("POST /organizations", { name, planId: plan.id })).body;
      const record = { organizationId: organization.id, productSlug: "tiles", metric: "requests" };
      const records = [{ ...record, quantity }, { ...record, quantity: 40, timestamp }];
      assert.equal(
        (await send("POST /usage", { records: name === "Below" ? records.slice(0, 1) : records })).status,
        201,
      );
    }
    await send("POST /usage", {
      records: [{ organizationId: mara.organizationId, productSlug: "tiles", metric: "bytes", quantity: 7 }],
    });
    const html = await page();
    const text = textOf(html);
    assert.match(text, /4 organizations, 4 active this month\./);
    assert.match(text, /All 4 Rejected 0 Above plan 1 Near limit 1 Suspended 0/);
    assert.match(text, /Over No external ID Small Above plan 0 0 100 in November 150% more 43\.5%/);
    assert.match(text, /Near No external ID Small Near limit 0 0 80 in November 100% more 34\.8%/);
    assert.match(text, /Below No external ID Small Active 0 0 50 in November New 21\.7%/);
    assert.deepEqual(names(html).slice(0, 3), ["Over", "Near", "Below"]);
    assert.match(html, /href="\/api\/operator\/organizations\.csv\?sort=usage"/);
    assert.deepEqual(names(await page("?limits=over")), ["Over"]);
    assert.deepEqual(names(await page("?limits=above")), ["Over"]);
    assert.deepEqual(names(await page("?limits=rejected")), []);
    const first = textOf((await openPage(test, "/operator", { person: mara })).html);
    assert.match(first, /1 organization is above its plan/);
    assert.deepEqual(
      [...(html.split("Actions for Near")[1] ?? "").matchAll(
        /class="menu-item[^"]*" href="[^"]*org_\w+([^"]*)"/g,
      )]
        .slice(0, 4).map(([, action]) => action),
      ["", "/usage/records", "/plan", "/suspend"],
    );
    assert.deepEqual(names(await page("?limits=near")), ["Near"]);
    assert.deepEqual(names(await page("?sort=growth")).slice(0, 3), ["Below", "Over", "Near"]);
    assert.equal(names(await page("?metric=bytes"))[0], "Mara’s organization");
    assert.match(await page("?metric=nope"), /Unknown metric “nope”; showing Requests\./);

    const overview = textOf((await openPage(test, "/operator", { person: mara })).html);
    assert.match(
      overview,
      /Limits running out Near a limit Near Requests per month: 80% used Around Nov 26/,
    );
  },
);

testApp("operators create organizations and invite their owner", async (test) => {
  const mara = await newOperator(test);
  const form = { name: "Northwind Maps", externalId: "cus_8841", email: "ada@example.com" };
  const created = await sendRow(test, mara, `POST ${list}/new`, form);
  assert.match(created.location ?? "", /^\/operator\/organizations\/org_\w+\?done=created$/);
  assert.equal((await test.mails()).at(-1)?.to, "ada@example.com");
  const found = await openPage(test, `${list}?search=cus_8841`, { person: mara });
  assert.deepEqual(names(found.html), ["Northwind Maps"]);
  await assertRows(test, mara, [
    [`POST ${list}/new`, { ...form, email: "" }, 409, { shows: ["has this external id"] }],
    [`POST ${list}/new`, { name: "", externalId: "ä", email: "" }, "422 name externalId"],
    [`POST ${list}/new`, { name: "N", externalId: "", email: "nobody" }, "422 email"],
    [`POST ${list}/new`, { name: "Without more", externalId: "", email: "" }, 303],
  ]);
});

testApp("the list finds organizations by the beginning of an owner's email address", async (test) => {
  const mara = await newOperator(test, "Mara");
  const ada = await test.signUp("Ada");
  const eve = await joinedPerson(test, ada, "MEMBER");
  const search = async (text: string) =>
    names((await openPage(test, `${list}?search=${encodeURIComponent(text)}`, { person: mara })).html);
  const start = ada.email.slice(0, ada.email.indexOf("@") + 1);
  for (const text of [ada.email, start, start.toUpperCase()]) {
    assert.deepEqual(await search(text), ["Ada’s organization"], text);
  }
  assert.ok(!(await search(eve.email)).includes("Ada’s organization"));
  assert.deepEqual(await search(start.slice(0, -1)), []);
});
