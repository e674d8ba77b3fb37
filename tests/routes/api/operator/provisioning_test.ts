// What a company's own sign-up does with one operator token: from the customer's organization to its deletion.
import assert from "node:assert/strict";
import { type ReadSum, recordWith } from "../../../support/meter/usage.ts";
import { startTestApp, testPassword } from "../../../support/app/app.ts";
import { assertSent, operatorOf } from "../../../support/operators/operator_api.ts";
import { me, signInAgain } from "../../../support/people/people.ts";
import { linksOf, startSmtp } from "../../../support/network/smtp.ts";
import { assertOutcome, assertRows } from "../../../support/app/rows.ts";

const customer = "/organizations/external:customer-4711";
const record = { productSlug: "tiles", metric: "requests", quantity: 2.5 };

Deno.test("a company provisions, bills and removes a customer with an operator token alone", async () => {
  const smtp = await startSmtp();
  const mailSettings = { SMTP_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: "auth@example.com" };
  const test = await startTestApp(mailSettings);
  try {
    const send = await operatorOf(test);
    const owner = { email: "ada@customer.example", name: "Ada" };
    const scope = { productSlug: "tiles", metric: "requests", per: "month" };
    const limits = [{ ...scope, quantity: 6, mode: "hard" }];
    const { body: { plan } } = await send("POST /plans", { name: "Free", limits });
    const organization = { name: "Customer Ltd", externalId: "customer-4711", planId: plan.id, owner };
    const created = await send("POST /organizations", organization);
    assert.equal(created.status, 201, JSON.stringify(created.body));
    const { id } = created.body.organization;

    await test.mails();
    assert.deepEqual(smtp.received.map(({ to }) => to), [[owner.email]]);
    const link = new URL(linksOf(smtp.received[0]?.raw ?? "")[0] ?? "");
    const invitationToken = link.searchParams.get("token");
    const signUp = { name: "Ada", password: testPassword, invitationToken };
    await assertRows(test, {}, [["POST /api/auth/sign-up", signUp, 201]]);
    const { organizationId, role } = await me(test, await signInAgain(test, owner.email));
    assert.deepEqual([organizationId, role], [id, "OWNER"]);

    const { body: { fullKey } } = await send(`POST ${customer}/api-keys`, { name: "Production" });
    const use = (outcome: string | number) =>
      assertOutcome(recordWith(test, fullKey, { quantity: 2.5 }), outcome);
    await use("201");
    const imported = { externalId: "customer-4711", ...record, idempotencyKey: "import-1" };
    const recorded = await send("POST /usage", { records: [imported] });
    assert.deepEqual([recorded.body.accepted, recorded.body.duplicates], [1, 0]);
    const usage = await send(`GET /usage?organizationId=${id}&window=total&groupBy=organization`);
    assert.deepEqual(usage.body.data.map(({ sum, count }: ReadSum) => [sum, count]), [[5, 2]]);

    await assertSent(send, [[`PATCH ${customer}`, { status: "suspended" }, "200"]]);
    await use("403 organization_suspended");
    await assertSent(send, [[`PATCH ${customer}`, { status: "active" }, "200"]]);
    await use(429);
    // An hour later, the customer pays for more.
    test.advance(3_600_000);
    const paid = { overrides: { limits: [{ ...scope, quantity: 7.5 }] } };
    await assertSent(send, [[`PATCH ${customer}`, paid, "200"]]);
    await use("201");
    await use(429);
    const { limits: [{ used, remaining }] } = (await send(`GET ${customer}/limits`)).body;
    assert.deepEqual([used, remaining], [7.5, 0]);

    // The month ends.
    test.advance(10 * 24 * 3_600_000);
    const { body: { statement } } = await send("POST /statements", { period: "2026-11" });
    const { body: csv } = await send(`GET /statements/${statement.id}.csv`);
    assert.match(csv, /customer-4711,Customer Ltd,tiles,.*,7\.5,3,/);

    await assertSent(send, [[`DELETE ${customer}`, undefined, "204"]]);
    await use("401 invalid_api_key");
    await assertSent(send, [[`GET ${customer}`, undefined, "404 not_found"]]);
  } finally {
    await test.dispose();
    await smtp.stop();
  }
});
