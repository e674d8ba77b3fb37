// The console's page of the audit log.
import assert from "node:assert/strict";
import { testApp } from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { openPage } from "../../../support/portal/pages.ts";

const path = "/operator/audit";
const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");

testApp("operators see what operators did, or the whole log of an organization", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada Lovelace");
  await test.send("/api/portal/api-keys", { cookie: ada.cookie, json: { name: "Production" } });
  await test.send(`/api/operator/organizations/${ada.organizationId}`, {
    cookie: mara.cookie,
    method: "PATCH",
    json: { status: "suspended" },
  });
  const page = async (query = "") => {
    const { status, html } = await openPage(test, `${path}${query}`, { person: mara });
    assert.equal(status, 200);
    return html;
  };
  const own = await page();
  assert.match(textOf(own), /Mara Rossi Suspended the organization Ada Lovelace’s organization/);
  assert.doesNotMatch(own, /Created the key/);
  assert.match(own, new RegExp(`href="/operator/organizations/${ada.organizationId}"`));

  const whole = await page(`?organizationId=${ada.organizationId}`);
  assert.match(textOf(whole), /Suspended the organization.*Created the key Production/);
  const csv = /href="([^"]*audit\.csv[^"]*)"/.exec(whole)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const file = await test.send(csv, { cookie: mara.cookie });
  assert.match(await file.text(), /api_key\.created/);
  const keys = await page(`?organizationId=${ada.organizationId}&action=keys`);
  assert.doesNotMatch(textOf(keys), /Suspended the organization Ada/);

  assert.match(await page("?organizationId=org_nope"), /Organization not found\./);
  assert.match(await page("?from=nonsense"), /id="from-error"/);
  assert.match(await page("?from=2020-01-01&to=2020-01-02"), /No matching entries/);
});
