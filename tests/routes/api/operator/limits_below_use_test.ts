// Limits that are set below what is used already: lists and the overview have them before anything else is recorded.
import assert from "node:assert/strict";
import type { TestApp } from "../../../support/app/app.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { operatorOf } from "../../../support/operators/operator_api.ts";
import { newOrganization } from "../../../support/people/scene.ts";
import { openPage } from "../../../support/portal/pages.ts";

type Send = Awaited<ReturnType<typeof operatorOf>>;
type Act = (send: Send, organization: string, test: TestApp) => Promise<unknown>;

const requests = { productSlug: null, metric: "requests", mode: "hard" };
const monthly = (quantity: number) => ({ ...requests, per: "month", quantity });
const total = (quantity: number) => ({ ...requests, per: "total", quantity });

async function accepted(sent: ReturnType<Send>) {
  const { status, body } = await sent;
  assert.ok(status < 300, JSON.stringify(body));
  return body;
}

const override = (...limits: object[]): Act => (send, id) =>
  accepted(send(`PATCH /organizations/${id}`, { overrides: { limits } }));
const planOf = async (send: Send, id: string) =>
  (await accepted(send(`GET /organizations/${id}`))).organization.planId;
const plan = (...limits: object[]): Act => async (send, id) =>
  accepted(send(`PATCH /plans/${await planOf(send, id)}`, { limits }));
const otherPlan = (...limits: object[]): Act => async (send, id) => {
  const numbers = { apiKeysMax: 10, membersMax: 10, usageSeriesMax: 10 };
  const body = await accepted(send("POST /plans", { name: crypto.randomUUID(), ...numbers, limits }));
  return await accepted(send(`PATCH /organizations/${id}`, { planId: body.plan.id }));
};
const timezone: Act = (send, id) => accepted(send(`PATCH /organizations/${id}`, { timezone: "Asia/Tokyo" }));
const grant: Act = async (send, id, test) => {
  const { organization } = await accepted(send(`GET /organizations/${id}`));
  const [limit] = organization.overrides.limits;
  return await accepted(send(`POST /organizations/${id}/grants`, {
    limitId: limit.id,
    quantity: 40,
    expiresAt: new Date(test.now() + 60_000).toISOString(),
    reason: "Paid.",
    idempotencyKey: crypto.randomUUID(),
  }));
};
const grantEnds: Act = (_send, _id, test) => Promise.resolve(test.advance(61_000));
const grantVoid: Act = async (send, id) => {
  const { grants: [given] } = await accepted(send(`GET /organizations/${id}/grants`));
  return await accepted(send(`POST /organizations/${id}/grants/${given.id}/void`, { reason: "Refunded." }));
};

/** Ways to leave no room after 30 recorded requests: the state before, the change, and the one that makes room again. */
const changes: Readonly<Record<string, readonly [before: Act[], lower: Act, raise: Act]>> = {
  "an override": [[], override(monthly(20)), override(monthly(50))],
  "a lowered override": [[override(monthly(50))], override(monthly(30)), override()],
  "an override of a plan's limit": [[plan(monthly(50))], override(monthly(20)), override()],
  "the end of an override": [[plan(monthly(20)), override(monthly(90))], override(), plan(monthly(90))],
  "another override": [[override(monthly(50))], override(monthly(50), total(20)), override(monthly(50))],
  "a plan's new limit": [[plan()], plan({ ...monthly(20), per: "day" }), plan()],
  "a plan's lowered limit": [[plan(monthly(50))], plan(monthly(20)), plan(monthly(50))],
  "another plan": [[plan()], otherPlan(monthly(20)), otherPlan(monthly(50))],
  "a grant that ends": [[override(total(0)), grant], grantEnds, grant],
  "a voided grant": [[override(total(0)), grant], grantVoid, grant],
  "another time zone": [[override(monthly(50))], async (...to) => {
    await override(monthly(30))(...to);
    await timezone(...to);
  }, override(monthly(90))],
};

onEveryDatabase("limits below what is used are listed immediately, until there is room", async (test) => {
  const send = await operatorOf(test);
  const mara = await newOperator(test);
  const isListed = async (id: string) => {
    const { organizations } = await accepted(send("GET /organizations?limits=over&limit=100"));
    return organizations.some((one: { id: string }) => one.id === id);
  };
  const isShown = async (name: string) => {
    // The overview is kept for 30 seconds.
    test.advance(31_000);
    return (await openPage(test, "/operator", { person: mara })).html.includes(
      `${name} has hit a hard limit`,
    );
  };
  for (const [name, [before, lower, raise]] of Object.entries(changes)) {
    const id = await newOrganization(test, name);
    for (const act of before) await act(send, id, test);
    await accepted(send("POST /usage", {
      records: [{ organizationId: id, productSlug: "tiles", metric: "requests", quantity: 30 }],
    }));
    const found = [await isListed(id)];
    await lower(send, id, test);
    found.push(await isListed(id), await isShown(name.replace("'", "&#39;")));
    await raise(send, id, test);
    found.push(await isListed(id), await isShown(name.replace("'", "&#39;")));
    assert.deepEqual(found, [false, true, true, false, false], name);
    assert.equal((await send(`DELETE /organizations/${id}`)).status, 204);
  }
});

onEveryDatabase("a new limit that will be reached this month is running out immediately", async (test) => {
  const send = await operatorOf(test);
  const mara = await newOperator(test);
  const id = await newOrganization(test, "Northwind");
  await accepted(send("POST /usage", {
    records: [{ organizationId: id, productSlug: "tiles", metric: "requests", quantity: 30 }],
  }));
  const card = async () => {
    test.advance(31_000);
    const { html } = await openPage(test, "/operator", { person: mara });
    return html.slice(html.indexOf("Limits running out")).includes("96% used");
  };
  const found = [await card()];
  await override(monthly(31))(send, id, test);
  found.push(await card());
  await override(monthly(1000))(send, id, test);
  found.push(await card());
  assert.deepEqual(found, [false, true, false]);
});
