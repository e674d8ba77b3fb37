// The console's pages of operator tokens.
import assert from "node:assert/strict";
import { testApp } from "../../../support/app/app.ts";
import { assertRows } from "../../../support/app/rows.ts";
import { newOperator } from "../../../support/operators/console.ts";

const list = "/operator/tokens";

testApp("operators create a token, see it once, and revoke it", async (test) => {
  const mara = await newOperator(test);
  const { html: created } = await assertRows(test, mara, [
    [`GET ${list}`, null, 200, { shows: ["No tokens yet"] }],
    [`POST ${list}/new`, {
      name: "Billing",
      expires: "30d",
      addresses: "127.0.0.1, 198.51.100.0/24",
      "organizations:read": "on",
      "usage:read": "on",
    }, 201],
  ]);
  const apiKey = /service_operator_\w{20,}/.exec(created)?.[0] ?? "";
  await assertRows(test, { apiKey }, [["GET /api/operator/organizations", null, 200]]);
  const { html } = await assertRows(test, mara, [[`GET ${list}`, null, 200, {
    shows: ["organizations:read, usage:read", /127\.0\.0\.1\S*, 198\.51\.100\.0\/24/],
    hides: [apiKey],
  }]]);
  const revoke = /href="(\/operator\/tokens\/opt_\w+\/revoke)"/.exec(html)?.[1] ?? "";
  await assertRows(test, mara, [
    [`GET ${revoke}`, null, 200, { shows: ["Revoke “<bdi>Billing</bdi>”?"] }],
    [`POST ${revoke}`, {}, `303 ${list}?done=revoked`],
    [`GET ${list}`, null, 200, { shows: ["Revoked"] }],
    [`GET ${list}/opt_nope/revoke`, null, 404],
  ]);
  await assertRows(test, { apiKey }, [["GET /api/operator/organizations", null, 401]]);
});

testApp("a rejected token is shown again with what is wrong", async (test) => {
  const create = `POST ${list}/new`;
  const { html } = await assertRows(test, await newOperator(test), [
    [create, { name: "N", expires: "whenever", "usage:read": "on" }, "422 expires", {
      shows: ['name="usage:read" value="on" checked'],
    }],
    [create, { name: "", expires: "never", addresses: "here" }, 422],
  ]);
  for (const field of ["name", "addresses", "scopes"]) assert.ok(html.includes(`id="${field}-error"`), field);
});
