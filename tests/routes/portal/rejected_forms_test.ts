// Rejected forms are shown again with their input and a message.
import assert from "node:assert/strict";
import { type ErrorCode, errorStatuses } from "../../../domain/errors.ts";
import { errorsWithoutForm } from "../../../routes/portal/errors.ts";
import { testApp } from "../../support/app/app.ts";
import { assertRows } from "../../support/app/rows.ts";
import { grantScene } from "../../support/meter/grants.ts";
import { asBilling, customer } from "../../support/meter/statements.ts";
import { newOperator } from "../../support/operators/console.ts";
import { verifiedPerson } from "../../support/people/people.ts";
import { openPage } from "../../support/portal/pages.ts";

testApp("a conflict with what is stored stands beside the form, which keeps its input", async (test) => {
  const mara = await newOperator(test);
  const { limit, person } = await grantScene(test, 9);
  const grants = `/operator/organizations/${person.organizationId}/grants/new`;
  const grant = { limitId: limit.id, quantity: "5", expiresAt: "", reason: "Paid.", formToken: "once" };
  const metrics = "/operator/products/tiles/metrics";
  const metric = { slug: "requests", name: "Requests" };
  await (await customer(test, "Ada")).record("2026-10-20T12:00:00.000Z");
  const { close } = await asBilling(test);
  await assertRows(test, mara, [
    [`POST ${grants}`, grant, 303],
    [`POST ${grants}`, { ...grant, quantity: "6" }, 409, {
      shows: ["This form was sent before", 'value="6"'],
      hides: ["Something went wrong"],
    }],
    ["POST /operator/products/new", { slug: "tiles", name: "Map tiles" }, 303],
    [`POST ${metrics}/new`, { ...metric, aggregation: "sum" }, 303],
  ]);
  await close("2026-10");
  await assertRows(test, mara, [
    // As sent by a page from before the month was closed.
    [`POST ${metrics}/requests/edit`, { ...metric, name: "Calls", aggregation: "max" }, 409, {
      shows: ["its aggregation must stay", 'value="Calls"'],
      hides: ["Something went wrong"],
    }],
  ]);
});

Deno.test("only errors that no input can fix have pages of their own", () => {
  const codes = Object.keys(errorStatuses) as ErrorCode[];
  assert.deepEqual(
    codes.filter((code) => errorsWithoutForm.has(code)),
    ["unauthenticated", "forbidden", "cross_site", "not_found", "internal"],
  );
});

testApp("email fields take every address that the API takes", async (test) => {
  for (const path of ["/sign-in", "/sign-up"]) {
    const html = await (await test.send(path)).text();
    // Browsers reject letters beyond ASCII before the @ of type="email".
    const field = /<input[^>]* name="email"[^>]*>/.exec(html)?.[0] ?? "";
    assert.match(field, / type="text".* inputmode="email".* autocapitalize="none"/, path);
  }
});

const [name, url, past, issuer] = [" ", "http://1.1.1.1/", "2001-01-01", "http://1.1.1.1"];
const date = { expires: "date", expiresOn: past };

testApp("a form shows all errors beside their fields, and the first of these has the focus", async (test) => {
  const mara = await newOperator(test);
  const { limit, person } = await grantScene(test, 9);
  const ada = await verifiedPerson(test);
  const organization = `/operator/organizations/${person.organizationId}`;
  const metadata = { "metadata[0].key": "a", "metadata[0].value": "x".repeat(9_999), "metadata[1].key": "b" };
  const forms: [string, Record<string, string>, string[]][] = [
    ["/portal/webhooks/new", { url, description: "x".repeat(999) }, ["url", "description", "events"]],
    ["/portal/webhooks/new", { url: "https://1.1.1.1/" }, ["events"]],
    ["/portal/api-keys/new", { name, ...date, permissions: "ok A!" }, ["name", "expiresOn", "permissions"]],
    ["/portal/api-keys/new", { name: "Production", ...date, permissions: "A!" }, [
      "expiresOn",
      "permissions",
    ]],
    ["/portal/organization/single-sign-on/edit", {
      issuer,
      clientId: "",
      role: "MEMBER",
      sessionMaxDays: "999",
    }, [
      "issuer",
      "clientId",
      "clientSecret",
      "sessionMaxDays",
    ]],
    ["/operator/webhooks/new", { url, description: "x".repeat(999) }, ["url", "description", "events"]],
    ["/operator/tokens/new", { name, ...date, addresses: "x" }, ["name", "expiresOn", "addresses", "scopes"]],
    ["/operator/organizations/new", { name, email: "x" }, ["name", "email"]],
    [`${organization}/edit`, { name: "x", externalId: " x".repeat(300), ...metadata }, [
      "externalId",
      "metadata[0].value",
    ]],
    [`${organization}/edit`, { name, "metadata[0].key": "a", "metadata[1].key": "a" }, [
      "name",
      "metadata[1].key",
    ]],
    [`${organization}/grants/new`, { limitId: limit.id, quantity: "x", expiresAt: past, formToken: "once" }, [
      "quantity",
      "expiresAt",
      "reason",
    ]],
    ["/operator/identity-providers/new", {
      name,
      slug: "",
      kind: "oidc",
      issuer,
      clientId: "",
      clientSecret: "",
    }, [
      "name",
      "slug",
      "issuer",
      "clientId",
      "clientSecret",
    ]],
    ["/sign-up", { name, email: "x", password: "short" }, ["name", "email", "password"]],
  ];
  for (const [path, form, wrong] of forms) {
    const cookie = path.startsWith("/operator") ? mara : path.startsWith("/portal") ? ada : undefined;
    const { status, html } = await openPage(test, path, { ...cookie && { person: cookie }, form });
    assert.equal(status, 422, path);
    const errors = [...html.matchAll(/<p class="field-error" id="([^"]+)-error"/g)].map(([, id]) => id);
    assert.deepEqual(errors.toSorted(), wrong.toSorted(), path);
    // The first field with the focus has the first error.
    const [before = "", after = ""] = html.split(/ autofocus(?:="")?[ />]([^]*)/);
    assert.ok(!before.includes("field-error"), path);
    assert.match(
      after,
      RegExp(`^(?:(?!<input|<select|<p class="field)[^])*<p class="field-error" id="${errors[0]}-error"`),
      path,
    );
  }
});
