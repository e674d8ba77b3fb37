// The console's pages of operator tokens.
import assert from "node:assert/strict";
import { testApp } from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { openPage } from "../../../support/portal/pages.ts";

const list = "/operator/tokens";

testApp("operators create a token, see it once, and revoke it", async (test) => {
  const mara = await newOperator(test);
  const page = (path: string, form?: Record<string, string>) =>
    openPage(test, path, form === undefined ? { person: mara } : { person: mara, form });
  assert.match((await page(list)).html, /No tokens yet/);
  const created = await page(`${list}/new`, {
    name: "Billing",
    expires: "30d",
    addresses: "127.0.0.1, 198.51.100.0/24",
    "organizations:read": "on",
    "usage:read": "on",
  });
  assert.equal(created.status, 201);
  const token = /service_operator_\w{20,}/.exec(created.html)?.[0] ?? "";
  const use = () =>
    test.send("/api/operator/organizations", { headers: { authorization: `Bearer ${token}` } });
  assert.equal((await use()).status, 200);
  const { html } = await page(list);
  assert.ok(!html.includes(token));
  assert.match(html, /organizations:read, usage:read/);
  assert.match(html, /127\.0\.0\.1\S*, 198\.51\.100\.0\/24/);

  const href = /href="(\/operator\/tokens\/opt_\w+\/revoke)"/.exec(html)?.[1] ?? "";
  assert.match((await page(href)).html, /Revoke “<bdi>Billing<\/bdi>”\?/);
  assert.equal((await page(href, {})).location, `${list}?done=revoked`);
  assert.equal((await use()).status, 401);
  assert.match((await page(list)).html, /Revoked/);
  assert.equal((await page(`${list}/opt_nope/revoke`)).status, 404);
});

testApp("a rejected token is shown again with what is wrong", async (test) => {
  const mara = await newOperator(test);
  const create = async (form: Record<string, string>) => {
    const { status, html } = await openPage(test, `${list}/new`, { person: mara, form });
    assert.equal(status, 422);
    return html;
  };
  const noScope = await create({ name: "", expires: "never", addresses: "here" });
  for (const field of ["name", "addresses", "scopes"]) {
    assert.match(noScope, new RegExp(`id="${field}-error"`));
  }
  const expires = await create({ name: "N", expires: "whenever", "usage:read": "on" });
  assert.match(expires, /id="expires-error"/);
  assert.match(expires, /name="usage:read" value="on" checked/);
});
