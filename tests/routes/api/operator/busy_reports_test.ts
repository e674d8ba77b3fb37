// Reading never blocks operating: with all reports of a token or of a customer's keys taken, operators still see and act.
import assert from "node:assert/strict";
import { jobsOpenPerReaderMax } from "../../../../domain/limits.ts";
import { createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { manySums } from "../../../support/meter/many_sums.ts";
import { makeOperator, newOperatorToken } from "../../../support/operators/operators.ts";
import { recordOne, unlimited } from "../../../support/meter/usage.ts";
import { assertRows } from "../../../support/app/rows.ts";
import { assertSent, operatorOf } from "../../../support/operators/operator_api.ts";

/** Opens as many reports as a reader may, whose client reads none, and one more. @returns The last response, and what ends them. */
async function fillShare(test: TestApp, path: string, headers: Record<string, string>) {
  const open = () => test.app.fetch(new Request(`${test.config.baseUrl.origin}${path}`, { headers }));
  const responses = await Promise.all(Array.from({ length: jobsOpenPerReaderMax }, open));
  assert.deepEqual(responses.map(({ status }) => status), responses.map(() => 200));
  return {
    rejected: await open(),
    end: () => Promise.all(responses.map(({ body }) => body?.cancel())),
  };
}

testApp("operators see and act while they and others have all their reports open", async (test) => {
  const customer = await test.signUp();
  const { fullKey: apiKey, id: keyId } = await createTestKey(test, customer);
  const usageRecord = await recordOne(test, apiKey);
  await test.opened.database.write(
    manySums({ series: 200, hours: 20, keyId, from: Date.UTC(2026, 10, 1) }),
  );
  const { fullToken: reading } = await newOperatorToken(test, ["usage:read"]);
  const olga = await test.signUp("Olga");
  await makeOperator(test, olga);
  const { cookie } = olga;
  const organization = `/operator/organizations/${customer.organizationId}`;
  const groups = "window=hour&groupBy=productSlug,metric,apiKey";
  const filled: Awaited<ReturnType<typeof fillShare>>[] = [];
  const fill = async (path: string, headers: Record<string, string>) => {
    const share = await fillShare(test, `${path}?${groups}`, headers);
    filled.push(share);
    assert.equal(share.rejected.status, 503);
    assert.match(await share.rejected.text(), /Too many of your reports are open/);
  };
  try {
    await fill("/api/operator/usage.csv", { authorization: `Bearer ${reading}` });
    await fill("/api/v1/usage.csv", { authorization: `Bearer ${apiKey}` });
    await assertRows(test, olga, [
      ["GET /operator", null, 200],
      [`GET ${organization}`, null, 200, { hides: ["Not available right now"] }],
      [`GET ${organization}/suspend`, null, 200],
      ["GET /operator/plans", null, 200],
    ]);
    await assertRows(test, customer, [["GET /portal/api-keys", null, 200]]);
    const send = await operatorOf(test);
    await assertSent(send, [
      ["POST /organizations", { name: "New", externalId: "new" }, "201"],
      [`POST /usage/records/${usageRecord.id}/void`, { reason: "wrong" }, "200"],
    ]);
    // The page of an organization works while its operator's own reports are all open.
    await fill("/api/operator/usage.csv", { cookie });
    await assertRows(test, olga, [
      [`GET ${organization}`, null, 200, {
        shows: ["Not available right now", `${organization}/suspend"`],
      }],
      [`POST ${organization}/suspend`, {}, 303],
    ]);
    await assertRows(test, { apiKey }, [["GET /api/v1/usage", null, "403 organization_suspended"]]);
    await assertSent(send, [[`DELETE /api-keys/${keyId}`, undefined, "200"]]);
  } finally {
    for (const { end } of filled) await end();
  }
}, unlimited);
