// What a company's own sign-up does with one operator token: from the customer's organization to its deletion.
import assert from "node:assert/strict";
import { startTestApp, testPassword } from "../../../support/app/app.ts";
import { operatorOf } from "../../../support/operators/operator_api.ts";
import { me, signInAgain } from "../../../support/people/people.ts";
import { linksOf, startSmtp } from "../../../support/network/smtp.ts";

const customer = "/organizations/external:customer-4711";
const record = { productSlug: "tiles", metric: "requests", quantity: 2.5 };

Deno.test("a company provisions, bills and removes a customer with an operator token alone", async () => {
  const smtp = await startSmtp();
  const mailSettings = { SMTP_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: "auth@example.com" };
  const test = await startTestApp(mailSettings);
  try {
    const send = await operatorOf(test);
    const owner = { email: "ada@customer.example", name: "Ada" };
    const perMonth = { productSlug: "tiles", metric: "requests", per: "month" };
    const limits = [{ ...perMonth, quantity: 6, mode: "hard" }];
    const plan = await send("POST /plans", { name: "Free", limits });
    assert.equal(plan.status, 201, JSON.stringify(plan.body));
    const created = await send("POST /organizations", {
      name: "Customer Ltd",
      externalId: "customer-4711",
      planId: plan.body.plan.id,
      owner,
    });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    const { id } = created.body.organization;

    await test.mails();
    assert.deepEqual(smtp.received.map(({ to }) => to), [[owner.email]]);
    const link = new URL(linksOf(smtp.received[0]?.raw ?? "")[0] ?? "");
    const invitationToken = link.searchParams.get("token");
    const signUp = await test.send("/api/auth/sign-up", {
      json: { name: "Ada", password: testPassword, invitationToken },
    });
    assert.equal(signUp.status, 201, await signUp.text());
    const cookie = await signInAgain(test, owner.email);
    const { organizationId, role } = await me(test, cookie);
    assert.deepEqual({ organizationId, role }, { organizationId: id, role: "OWNER" });

    const key = await send(`POST ${customer}/api-keys`, { name: "Production" });
    assert.equal(key.status, 201, JSON.stringify(key.body));
    const use = async () => {
      const response = await test.send("/api/v1/usage", { apiKey: key.body.fullKey, json: record });
      const body = await response.json();
      return body.error?.code ?? response.status;
    };
    assert.equal(await use(), 201);
    const recorded = await send("POST /usage", {
      records: [{ externalId: "customer-4711", ...record, idempotencyKey: "import-1" }],
    });
    assert.deepEqual([recorded.body.accepted, recorded.body.duplicates], [1, 0]);
    const usage = await send(`GET /usage?organizationId=${id}&window=total&groupBy=organization`);
    assert.equal(usage.status, 200, JSON.stringify(usage.body));
    assert.deepEqual(
      usage.body.data.map(({ sum, count }: { sum: number; count: number }) => [sum, count]),
      [[5, 2]],
    );

    assert.equal((await send(`PATCH ${customer}`, { status: "suspended" })).status, 200);
    assert.equal(await use(), "organization_suspended");
    assert.equal((await send(`PATCH ${customer}`, { status: "active" })).status, 200);
    assert.equal(await use(), "limit_exceeded");
    // An hour later, the customer pays for more.
    test.advance(3_600_000);
    const paid = { overrides: { limits: [{ ...perMonth, quantity: 7.5 }] } };
    assert.equal((await send(`PATCH ${customer}`, paid)).status, 200);
    assert.equal(await use(), 201);
    assert.equal(await use(), "limit_exceeded");
    const { body: standings } = await send(`GET ${customer}/limits`);
    assert.deepEqual(
      standings.limits.map(({ used, remaining }: { used: number; remaining: number }) => [used, remaining]),
      [[7.5, 0]],
    );

    // The month ends.
    test.advance(10 * 24 * 3_600_000);
    const statement = await send("POST /statements", { period: "2026-11" });
    assert.equal(statement.status, 201, JSON.stringify(statement.body));
    const { body: csv } = await send(`GET /statements/${statement.body.statement.id}.csv`);
    assert.match(csv, /customer-4711,Customer Ltd,tiles,.*,7\.5,3,/);

    assert.equal((await send(`DELETE ${customer}`)).status, 204);
    assert.equal(await use(), "invalid_api_key");
    assert.equal((await send(`GET ${customer}`)).status, 404);
  } finally {
    await test.dispose();
    await smtp.stop();
  }
});
