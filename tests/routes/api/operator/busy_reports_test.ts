// Reading never blocks operating: with all reports of a token or of a customer's keys taken, operators still see and act.
import assert from "node:assert/strict";
import { jobsOpenPerReaderMax } from "../../../../domain/limits.ts";
import { createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { manySums } from "../../../support/meter/many_sums.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { makeOperator, newOperatorToken } from "../../../support/operators/operators.ts";
import { recordOne, unlimited } from "../../../support/meter/usage.ts";

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

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

testApp("operators see and act while a token and a customer have all their reports open", async (test) => {
  const customer = await test.signUp();
  const { fullKey: apiKey, id: keyId } = await createTestKey(test, customer);
  const usageRecord = await recordOne(test, apiKey);
  await test.opened.database.write(
    manySums({ series: 1_000, hours: 20, keyId, from: Date.UTC(2026, 10, 1) }),
  );
  const { fullToken: reading } = await newOperatorToken(test, ["usage:read"]);
  const { fullToken: acting } = await newOperatorToken(test);
  const account = await test.signUp("Olga");
  await makeOperator(test, account);
  const organization = customer.organizationId;
  const groups = "window=hour&groupBy=productSlug,metric,apiKey";
  const filled = [
    await fillShare(test, `/api/operator/usage.csv?${groups}`, bearer(reading)),
    await fillShare(test, `/api/v1/usage.csv?${groups}`, bearer(apiKey)),
  ];
  try {
    for (const { rejected } of filled) {
      assert.equal(rejected.status, 503);
      assert.match(await rejected.text(), /Too many of your reports are open/);
    }
    const { cookie } = account;
    for (
      const page of [
        "",
        `/organizations/${organization}`,
        `/organizations/${organization}/suspend`,
        "/plans",
      ]
    ) {
      assert.equal((await test.send(`/operator${page}`, { cookie })).status, 200, page);
    }
    assert.equal((await test.send("/portal/api-keys", { cookie: customer.cookie })).status, 200);
    const send = asOperator(test, acting);
    const created = await send("POST /organizations", { name: "New", externalId: "new" });
    assert.deepEqual([created.status, created.body.organization.name], [201, "New"]);
    const voided = await send(`POST /usage/records/${usageRecord.id}/void`, { reason: "wrong" });
    assert.equal(voided.status, 200);
    const suspended = await test.send(`/operator/organizations/${organization}/suspend`, {
      cookie,
      form: {},
    });
    assert.equal(suspended.status, 303);
    const denied = await test.send("/api/v1/usage", { apiKey });
    assert.equal((await denied.json()).error.code, "organization_suspended");
    assert.equal((await send(`DELETE /api-keys/${keyId}`)).body.apiKey.status, "revoked");
  } finally {
    for (const { end } of filled) await end();
  }
}, unlimited);

testApp("the page of an organization works while its operator's own reports are all open", async (test) => {
  const customer = await test.signUp();
  const { id: keyId } = await createTestKey(test, customer);
  await test.opened.database.write(
    manySums({ series: 1_000, hours: 20, keyId, from: Date.UTC(2026, 10, 1) }),
  );
  const account = await test.signUp("Olga");
  await makeOperator(test, account);
  const { cookie } = account;
  const groups = "window=hour&groupBy=productSlug,metric,apiKey";
  const { rejected, end } = await fillShare(test, `/api/operator/usage.csv?${groups}`, { cookie });
  try {
    assert.equal(rejected.status, 503);
    const page = await test.send(`/operator/organizations/${customer.organizationId}`, { cookie });
    const html = await page.text();
    assert.equal(page.status, 200);
    assert.match(html, /Not available right now/);
    assert.match(html, /organizations\/[^"]*\/suspend"/);
  } finally {
    await end();
  }
}, unlimited);
