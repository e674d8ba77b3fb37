// Emails about limits that no one gets: the pages of the customer and of operators say why, and /metrics counts them.
import assert from "node:assert/strict";
import { mailLimitNotices } from "../../../services/meter/limit_mails.ts";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { assertRows } from "../../support/app/rows.ts";
import { newOperator } from "../../support/operators/console.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { asOperator } from "../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { openPage } from "../../support/portal/pages.ts";
import { onEveryDatabase, recordOne } from "../../support/meter/usage.ts";
import { newScene, run } from "../../support/people/scene.ts";

const missed = "No one gets emails about these limits";
const unconfirmed = `${missed}: no owner or admin has confirmed their email address.`;

/** Runs the job on two servers at the same time. @returns How many emails about limits were written and withheld until now. */
async function mailed(test: TestApp) {
  const write = () => mailLimitNotices(test.services, test.parts.mailWorker.withheld);
  await Promise.all([write(), write()]);
  const [row] = await test.opened.database.read<{ count: number }>({
    sql: "SELECT count(*) AS count FROM outbox WHERE kind LIKE 'limit_%'",
    args: [],
  });
  const metrics = await (await test.send("/metrics")).text();
  const value = (reason: string) =>
    Number(
      new RegExp(`^gatehouse_mail_withheld_total\\{reason="${reason}"\\} (\\d+)$`, "m").exec(metrics)?.[1],
    );
  return { written: row?.count, unconfirmed: value("unconfirmed"), noOwner: value("no_owner") };
}

/** @returns The texts of the overview of a person and of the console's page of an organization. */
async function texts(
  test: TestApp,
  { person, operator, organizationId }: {
    person?: TestPerson;
    operator: TestPerson;
    organizationId: string;
  },
) {
  const overview = person && await openPage(test, "/portal", { person });
  const console = await openPage(test, `/operator/organizations/${organizationId}/limits`, {
    person: operator,
  });
  assert.equal(console.status, 200);
  const textOf = (html = "") => /[^<>]* emails about these limits[^<>]*/.exec(html)?.[0] ?? null;
  return [textOf(overview?.html), textOf(console.html)];
}

onEveryDatabase(
  "emails to owners who never confirmed their address are counted, and both pages say so",
  async (test) => {
    const operator = await newOperator(test);
    const person = await test.signUp();
    const { organizationId } = person;
    const { fullKey } = await createTestKey(test, person);
    await addLimit(test, { organizationId }, { per: "month", quantity: 10 });
    await recordOne(test, fullKey, { quantity: 7 });
    const said = () => texts(test, { person, operator, organizationId });
    const own = escaped("You don't get emails about these limits until you confirm your email address.");
    assert.deepEqual(await said(), [own, unconfirmed], "before it matters");
    const blocked = async () =>
      await Promise.all(["/portal", "/portal/members", "/portal/account/security"].map(async (path) => {
        const { html } = await openPage(test, path, { person });
        return /aside-note between"><p>[^<]*until you confirm.*?Resend email/i.test(html);
      }));
    assert.deepEqual(await blocked(), [true, true, true]);
    assert.deepEqual(await mailed(test), { written: 0, unconfirmed: 0, noOwner: 0 });
    await recordOne(test, fullKey, { quantity: 1 });
    assert.deepEqual(await mailed(test), { written: 0, unconfirmed: 1, noOwner: 0 });
    await run(test, "UPDATE users SET email_verified_at = 1 WHERE id = ?", person.userId);
    assert.deepEqual(await said(), [null, null]);
    assert.deepEqual(await blocked(), [false, false, false]);
    await recordOne(test, fullKey, { quantity: 2 });
    assert.deepEqual(await mailed(test), { written: 1, unconfirmed: 1, noOwner: 0 });
  },
);

testApp("an organization without members is named and counted", async (test) => {
  const operator = await newOperator(test);
  const send = asOperator(test, (await newOperatorToken(test)).fullToken);
  const { body: { organization } } = await send("POST /organizations", { name: "Acme" });
  const { body: { fullKey } } = await send(`POST /organizations/${organization.id}/api-keys`, { name: "A" });
  const said = () => texts(test, { operator, organizationId: organization.id });
  assert.deepEqual(await said(), [null, null], "there is no limit");
  await addLimit(test, { organizationId: organization.id }, { per: "month", quantity: 10, mode: "hard" });
  await recordOne(test, fullKey, { quantity: 10 });
  assert.deepEqual(await said(), [null, `${missed}: the organization has no owner or admin.`]);
  assert.deepEqual(await mailed(test), { written: 0, unconfirmed: 0, noOwner: 1 });
});

testApp("those who never confirmed are counted apart from those who turned the emails off", async (test) => {
  const operator = await newOperator(test);
  const scene = await newScene(test, "owner");
  const { organizationId, me: person, apiKey } = scene;
  const [first, second] = [await scene.newMember("ADMIN"), await scene.newMember("OWNER")];
  const set = async (column: string, value: number | null, people: readonly TestPerson[]) => {
    for (const { userId } of people) {
      await run(test, `UPDATE users SET ${column} = ? WHERE id = ?`, value, userId);
    }
  };
  await scene.newMember("MEMBER");
  await run(test, "UPDATE users SET email_verified_at = 1");
  await addLimit(test, { organizationId }, { per: "month", quantity: 10 });
  await recordOne(test, apiKey, { quantity: 9 });
  const said = () => texts(test, { person, operator, organizationId });
  assert.deepEqual(await said(), [null, null]);
  await set("email_verified_at", null, [first]);
  const one =
    "One owner or admin doesn't get emails about these limits: their email address isn't confirmed.";
  assert.deepEqual(await said(), [one, one].map(escaped));
  await set("email_verified_at", null, [first, second]);
  const two =
    "2 owners and admins don't get emails about these limits: their email addresses aren't confirmed.";
  assert.deepEqual(await said(), [two, two].map(escaped));
  await set("limit_emails", 0, [second]);
  assert.deepEqual(await said(), [one, one].map(escaped), "one of them wouldn't get any");
  const { written, ...withheld } = await mailed(test);
  assert(written !== undefined && written > 0);
  assert.deepEqual(withheld, { unconfirmed: 1, noOwner: 0 });
  await run(test, "UPDATE users SET limit_emails = 0");
  const off = `${missed}: every owner and admin has turned them off or is disabled.`;
  assert.deepEqual(await said(), [null, off], "only operators are reminded of what customers chose");
});

const escaped = (text: string) => text.replaceAll("'", "&#39;");

testApp("nothing is said or counted where no email is sent", async (test) => {
  const operator = await newOperator(test);
  const person = await test.signUp();
  const { organizationId } = person;
  const { fullKey } = await createTestKey(test, person);
  await addLimit(test, { organizationId }, { per: "month", quantity: 10 });
  await recordOne(test, fullKey, { quantity: 10 });
  assert.deepEqual(await texts(test, { person, operator, organizationId }), [null, null]);
  assert.deepEqual(await mailed(test), { written: 0, unconfirmed: 0, noOwner: 0 });
}, { BASE_URL: "https://auth.example.com" });

testApp("the account page says that emails about limits wait for a confirmation", async (test) => {
  const person = await test.signUp();
  const text = "These emails start when you confirm your email address.";
  await assertRows(test, person, [["GET /portal/account", null, 200, { shows: [text] }]]);
  await run(test, "UPDATE users SET email_verified_at = 1");
  await assertRows(test, person, [["GET /portal/account", null, 200, { hides: [text] }]]);
});
