// Rejected forms are shown again with their input and a message.
import assert from "node:assert/strict";
import { type ErrorCode, errorStatuses } from "../../../domain/errors.ts";
import { errorsWithoutForm } from "../../../routes/portal/errors.ts";
import { testApp } from "../../support/app/app.ts";
import { assertRows } from "../../support/app/rows.ts";
import { grantScene } from "../../support/meter/grants.ts";
import { asBilling, customer } from "../../support/meter/statements.ts";
import { newOperator } from "../../support/operators/console.ts";

testApp("a conflict with what is stored stands beside the form, which keeps its input", async (test) => {
  const mara = await newOperator(test);
  const { limit, person } = await grantScene(test, 9);
  const grants = `/operator/organizations/${person.organizationId}/grants/new`;
  const grant = { limitId: limit.id, quantity: "5", expiresAt: "", reason: "Paid.", formToken: "once" };
  const product = {
    slug: "tiles",
    name: "Map tiles",
    "metrics[0].slug": "requests",
    "metrics[0].name": "Requests",
  };
  await (await customer(test, "Ada")).record("2026-10-20T12:00:00.000Z");
  const { close } = await asBilling(test);
  await assertRows(test, mara, [
    [`POST ${grants}`, grant, 303],
    [`POST ${grants}`, { ...grant, quantity: "6" }, 409, {
      shows: ["This form was sent before", 'value="6"'],
      hides: ["Something went wrong"],
    }],
    ["POST /operator/products/new", { ...product, "metrics[0].aggregation": "sum" }, 303],
  ]);
  await close("2026-10");
  await assertRows(test, mara, [
    [
      "POST /operator/products/tiles/edit",
      { ...product, name: "Tiles", "metrics[0].aggregation": "max" },
      409,
      {
        shows: ["its aggregation must stay", 'value="Tiles"'],
        hides: ["Something went wrong"],
      },
    ],
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
