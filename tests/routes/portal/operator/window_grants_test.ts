// Grants of limits with a window, on the pages of operators and members, as they work without scripts.
import { testApp } from "../../../support/app/app.ts";
import { assertRows } from "../../../support/app/rows.ts";
import { grantScene } from "../../../support/meter/grants.ts";
import { addLimit } from "../../../support/meter/limits.ts";
import { newOperator } from "../../../support/operators/console.ts";

testApp("operators add a grant for a limit per month, and pages count it in the limit", async (test) => {
  const mara = await newOperator(test);
  const { person, record } = await grantScene(test, 1_000_000);
  const month = await addLimit(test, {}, { per: "month", metric: "requests", quantity: 1_000, mode: "hard" });
  const base = `/operator/organizations/${person.organizationId}`;
  const grant = { limitId: month.id, quantity: "500", reason: "Invoice 7.", formToken: "once" };
  await assertRows(test, mara, [
    [`GET ${base}/grants/new`, null, 200, { shows: [/requests per month/i, /requests in total/i] }],
    [`POST ${base}/grants/new`, { ...grant, every: "", rollover: "0", expiresAt: "", until: "" }, 303],
  ]);
  await record(1_200);
  await assertRows(test, mara, [
    [`GET ${base}/limits`, null, 200, {
      shows: [/1,200[^]*1,500/, /requests per month[^]*Invoice 7\.[^]*500[^]*200[^]*300/i],
    }],
  ]);
  await assertRows(test, person, [
    ["GET /portal/billing", null, 200, { shows: [/requests per month[^]*Invoice 7\./i] }],
    ["GET /portal", null, 200, { shows: ["1,500"] }],
  ]);
});
