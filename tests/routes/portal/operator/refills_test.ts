// Grants that repeat, on the pages of operators and members, as they work without scripts.
import assert from "node:assert/strict";
import { testApp } from "../../../support/app/app.ts";
import { assertRows, fetchJson } from "../../../support/app/rows.ts";
import { grantScene } from "../../../support/meter/grants.ts";
import { newOperator } from "../../../support/operators/console.ts";

testApp("operators add a grant that repeats and stop it, and members see it", async (test) => {
  const mara = await newOperator(test);
  const { limit, person, send, refills } = await sceneWithRefills(test);
  const base = `/operator/organizations/${person.organizationId}`;
  const grant = { limitId: limit.id, quantity: "1,000", reason: "Included.", formToken: "once" };
  await assertRows(test, mara, [
    [`GET ${base}/grants/new`, null, 200, {
      shows: ["Doesn't repeat", "Every month", "Repeats until (optional)"],
    }],
    [
      `POST ${base}/grants/new`,
      { ...grant, every: "month", rollover: "1", expiresAt: "2027-01-01", until: "2020-01-01" },
      422,
      {
        shows: ["This must be left out for a grant that repeats.", "in the future", 'value="1,000"'],
      },
    ],
    [`POST ${base}/grants/new`, { ...grant, every: "", rollover: "1", until: "2028-01-01" }, 422, {
      shows: ["This must be left out for a grant that doesn't repeat."],
    }],
    [`POST ${base}/grants/new`, { ...grant, every: "month", rollover: "1", expiresAt: "", until: "" }, 303],
    [`GET ${base}/limits`, null, 200, { shows: ["Every month", "Scheduled", "Stop repeating"] }],
  ]);
  const [refill] = await refills();
  assert.deepEqual([refill.quantity, refill.every, refill.rollover, refill.until], [1_000, "month", 1, null]);
  await assertRows(test, person, [
    ["GET /portal/billing", null, 200, {
      shows: ["Every month", "Scheduled", /data-label="Left">1,000</],
      hides: ["Stop repeating", /data-label="Left">0</],
    }],
  ]);
  const page = `${base}/refills/${refill.id}/void`;
  await assertRows(test, mara, [
    [`GET ${page}`, null, 200, {
      shows: ["Stop repeating the grant of “", "Every month", "1,000", "Included."],
    }],
    [`POST ${page}`, { reason: "" }, 422],
    [`POST ${page}`, { reason: "Contract ended." }, 303],
    [`GET ${base}/limits?done=refill-voided`, null, 200, {
      shows: ["Contract ended."],
      hides: ["Stop repeating"],
      notices: ["Grants no longer repeat. What was left of them was voided."],
    }],
    [`GET ${base}/refills/${refill.id}/void`, null, 200],
    ["GET /operator/audit", null, 200, {
      shows: [/Granted[^]*1,000[^]*every[^]*month[^]*rollover[^]*Included/, "Voided a refill of"],
    }],
  ]);
  assert.equal((await refills())[0].status, "voided");
  assert.equal((await send(`GET /organizations/${person.organizationId}/grants`)).body.grants.length, 4);
  const list = await fetchJson(test, person, "GET /api/portal/grants");
  assert.deepEqual(
    list.grants.map(({ refillId }: { refillId: string }) => refillId),
    Array(4).fill(refill.id),
  );
});

async function sceneWithRefills(test: Parameters<typeof grantScene>[0]) {
  const scene = await grantScene(test);
  const path = `/organizations/${scene.person.organizationId}/refills`;
  return { ...scene, refills: async () => (await scene.send(`GET ${path}`)).body.refills };
}
