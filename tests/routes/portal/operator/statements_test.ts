// The console's pages of statements.
import assert from "node:assert/strict";
import { createTestKey, testApp } from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { recordOne } from "../../../support/meter/usage.ts";

const path = "/operator/statements";

testApp("operators close months and read statements", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada");
  const { fullKey } = await createTestKey(test, ada);
  await recordOne(test, fullKey, { quantity: 1204.25, timestamp: "2026-10-25T00:00:00.000Z" });
  assert.match(
    (await openPage(test, path, { person: mara })).html,
    /No statements yet[^]*Close October 2026/,
  );
  const close = `${path}/close`;
  assert.match(
    (await openPage(test, close, { person: mara })).html,
    /for all organizations[^]*value="2026-10"/,
  );
  for (const period of ["2026-11", "October"]) {
    const { status } = await openPage(test, close, { person: mara, form: { period } });
    assert.equal(status, period === "October" ? 422 : 409, period);
  }
  const { location } = await openPage(test, close, { person: mara, form: { period: "2026-10" } });
  assert.ok(location);
  assert.match(location, /^\/operator\/statements\/stm_/);
  const { html } = await openPage(test, location, { person: mara });
  assert.match(html, /Statement of October 2026[^]*1,204\.25[^]*Ada’s organization/);
  assert.match(html, new RegExp(`/api${location}\\.csv`));
  assert.match((await openPage(test, path, { person: mara })).html, /October 2026/);
});
