// The console's list of organizations, and the form that creates one.
import assert from "node:assert/strict";
import { consolePageItemsMax } from "../../../../domain/limits.ts";
import { testApp, type TestPerson } from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { newOrganization } from "../../../support/people/scene.ts";

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
  assert.match(await page("?status=suspended"), /No matching organizations/);
  assert.equal(names(await page("?status=nonsense&sort=nonsense")).length, 4);

  for (let n = 0; n < consolePageItemsMax; n++) await newOrganization(test, `Customer ${n}`);
  const first = await page("?search=customer");
  assert.equal(names(first).length, consolePageItemsMax);
  const next = linkTo(await page(), "Next page");
  assert.equal(names(await page(next.replace(list, ""))).length, 4);
  assert.equal(linkTo(await page(next.replace(list, "")), "First page"), list);
});

testApp("operators create organizations and invite their owner", async (test) => {
  const mara = await newOperator(test);
  const create = (form: Record<string, string>) => openPage(test, `${list}/new`, { person: mara, form });
  const form = { name: "Northwind Maps", externalId: "cus_8841", email: "ada@example.com" };
  const created = await create(form);
  assert.match(created.location ?? "", /^\/operator\/organizations\/org_\w+\?done=created$/);
  assert.equal((await test.mails()).at(-1)?.to, "ada@example.com");
  const found = await openPage(test, `${list}?search=cus_8841`, { person: mara });
  assert.deepEqual(names(found.html), ["Northwind Maps"]);

  const taken = await create({ ...form, email: "" });
  assert.equal(taken.status, 409);
  assert.match(taken.html, /has this external id/);
  const wrong = await create({ name: "", externalId: "ä", email: "" });
  assert.equal(wrong.status, 422);
  for (const field of ["name", "externalId"]) assert.match(wrong.html, new RegExp(`id="${field}-error"`));
  const nobody = await create({ name: "N", externalId: "", email: "nobody" });
  assert.equal(nobody.status, 422);
  assert.match(nobody.html, /id="email-error"/);
  assert.match(
    (await create({ name: "Without more", externalId: "", email: "" })).location ?? "",
    /done=created/,
  );
});
