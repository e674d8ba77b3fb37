// Emails about limits: who gets them, once for each window, with several servers too.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { alertMailsPerDayMax } from "../../../domain/outbox/webhook_limits.ts";
import { noteLimits } from "../../../db/meter/limit_notices.ts";
import { mailLimitNotices } from "../../../services/meter/limit_mails.ts";
import { assertRows } from "../../support/app/rows.ts";
import { createTestKey, type TestApp, type TestPerson } from "../../support/app/app.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { makeOperator, newOperatorToken } from "../../support/operators/operators.ts";
import { joinedPerson, verifiedPerson } from "../../support/people/people.ts";
import { onBothDatabases, onEveryDatabase, recordOne, recordWith } from "../../support/meter/usage.ts";
import { run } from "../../support/people/scene.ts";

type Level = "near" | "reached" | "refused";

/** Writes a notice as the recorder does. */
async function note(
  test: TestApp,
  { limit, organizationId, level, window = 1 }: {
    limit: number;
    organizationId: string;
    level: Level;
    window?: number;
  },
): Promise<void> {
  await run(
    test,
    `INSERT INTO limit_notices (usage_limit, organization, window_number, percent, is_refusal, used, at, noted_at)
     SELECT ?, number, ?, ?, ?, '[0,0,0]', ?, ? FROM organizations WHERE id = ?`,
    limit,
    window,
    level === "near" ? 80 : 100,
    level === "refused" ? 1 : 0,
    test.now(),
    test.now(),
    organizationId,
  );
  await test.opened.database.write(noteLimits(test.now()));
}

/** Runs the job on two servers at the same time. @returns The new emails about limits, each as recipient and subject. */
async function newMails(test: TestApp): Promise<string[]> {
  const before = (await limitMails(test)).length;
  await Promise.all([
    mailLimitNotices(test.services, test.parts.mailWorker.withheld),
    mailLimitNotices(test.services, test.parts.mailWorker.withheld),
  ]);
  return (await limitMails(test)).slice(before).sort();
}

async function limitMails(test: TestApp): Promise<string[]> {
  const mails = await test.mails();
  return mails.filter(({ subject }) => /limit/.test(subject)).map(({ to, subject }) => `${to}: ${subject}`);
}

/** A person with a confirmed address and the organization “Acme”. */
async function newOwner(test: TestApp, name = "Acme"): Promise<TestPerson> {
  const owner = await verifiedPerson(test);
  await run(test, "UPDATE organizations SET name = ? WHERE id = ?", name, owner.organizationId);
  return owner;
}

async function newOperator(test: TestApp): Promise<TestPerson> {
  const operator = await verifiedPerson(test);
  await makeOperator(test, operator);
  return operator;
}

onBothDatabases("owners and admins get an email at 80% and at 100%, once a window", async (test) => {
  const owner = await newOwner(test);
  const { organizationId } = owner;
  const admin = await joinedPerson(test, owner, "ADMIN");
  await joinedPerson(test, owner, "MEMBER");
  await newOperator(test);
  const { fullToken: apiKey } = await newOperatorToken(test);
  const metrics = [{ slug: "bytes", name: "Data transfer", unit: "bytes" }];
  const product = { slug: "tiles", name: "Map tiles", metrics };
  assert.equal((await test.send("/api/operator/products", { apiKey, json: product })).status, 201);
  const bytes = { productSlug: "tiles", metric: "bytes", per: "month", quantity: 5e12 } as const;
  const { number: limit } = await addLimit(test, { organizationId }, bytes);
  const both = (subject: string) => [admin, owner].map(({ email }) => `${email}: ${subject}`).sort();

  await note(test, { limit, organizationId, level: "near" });
  assert.deepEqual(await newMails(test), both("Acme has used 80% of a limit"));
  const text = (await test.mails()).at(-1)?.text ?? "";
  assert.match(text, /this limit: 5 TB \(Map tiles · Data transfer per month\)/);
  assert.deepEqual(await newMails(test), []);
  await note(test, { limit, organizationId, level: "reached" });
  assert.deepEqual(await newMails(test), both("Acme has reached a limit"));
  await note(test, { limit, organizationId, level: "near", window: 2 });
  await note(test, { limit, organizationId, level: "reached", window: 2 });
  assert.deepEqual(await newMails(test), both("Acme has reached a limit"), "the earlier one is needless");
  assert.deepEqual(await newMails(test), []);
});

onEveryDatabase("operators get an email about a hard limit that was hit, once a window", async (test) => {
  const owner = await newOwner(test);
  const { organizationId } = owner;
  const operator = await newOperator(test);
  const hard = await addLimit(test, { organizationId }, { per: "day", quantity: 10, mode: "hard" });
  await run(test, "UPDATE organizations SET timezone = 'Asia/Tokyo' WHERE id = ?", organizationId);
  const expected = (subject: string) =>
    [`${operator.email}: Acme has hit a hard limit`, `${owner.email}: ${subject}`].sort();
  const subjects = { reached: "Acme has reached a limit", refused: "Usage of Acme exceeded a limit" };
  for (const [window, level] of (["reached", "refused"] as const).entries()) {
    await note(test, { limit: hard.number, organizationId, level, window });
    assert.deepEqual(await newMails(test), expected(subjects[level]));
    assert.deepEqual(await newMails(test), []);
  }
  const texts = (await test.mails()).map(({ text }) => text).filter((text) => text.includes("is rejected"));
  assert.equal(texts.length, 4);
  for (const text of texts) {
    assert.match(text, /is rejected until the limit resets \(Nov 22, 00:00 Tokyo\)\./);
  }
});

onEveryDatabase("a request that was too large leaves emails about what is used to come", async (test) => {
  const owner = await newOwner(test);
  const { fullKey } = await createTestKey(test, owner);
  await addLimit(test, { organizationId: owner.organizationId }, {
    per: "month",
    quantity: 10,
    mode: "hard",
  });
  const use = async (quantity: number, status = 201) => {
    assert.equal((await recordWith(test, fullKey, { quantity })).status, status);
    test.advance(1);
    return (await newMails(test)).map((mail) => mail.slice(owner.email.length + 2));
  };
  assert.deepEqual(await use(11, 429), []);
  assert.deepEqual(await use(5), []);
  assert.deepEqual(await use(6, 429), ["Usage of Acme exceeded a limit"]);
  assert.deepEqual(await use(3), ["Acme has used 80% of a limit"]);
  assert.deepEqual(await use(2), ["Acme has reached a limit"]);
  assert.deepEqual(await use(1, 429), []);
});

onEveryDatabase("budgets of keys cause no emails", async (test) => {
  const owner = await newOwner(test);
  await newOperator(test);
  const { id, fullKey } = await createTestKey(test, owner);
  await addLimit(test, { apiKeyId: id }, { per: "month", quantity: 10, mode: "hard" });
  for (const [quantity, status] of [[8, 201], [2, 201], [1, 429]] as const) {
    assert.equal((await recordWith(test, fullKey, { quantity })).status, status);
    assert.deepEqual(await newMails(test), []);
  }
});

onEveryDatabase("a customer with many limits doesn't use up the emails that operators get", async (test) => {
  const [owner, other] = [await newOwner(test), await newOwner(test, "Beta")];
  await newOperator(test);
  const { number: limit } = await addLimit(test, {}, { per: "day", quantity: 10, mode: "hard" });
  const { organizationId } = owner;
  for (let window = 0; window < 101; window++) {
    await note(test, { limit, organizationId, level: "refused", window });
  }
  await note(test, { limit, organizationId: other.organizationId, level: "refused" });
  while (await mailLimitNotices(test.services, test.parts.mailWorker.withheld));
  const mails = await test.opened.database.read<{ name: string; count: number }>(sql`
    SELECT fields ->> 'organization' AS name, count(*) AS count FROM outbox
    WHERE kind = 'operator_limit_reached' GROUP BY 1 ORDER BY 1`);
  assert.deepEqual(mails.map(({ name, count }) => [name, count]), [["Acme", 20], ["Beta", 1]]);
});

onEveryDatabase(
  "an organization's alerts cause a limited number of emails a day, and limits cause theirs",
  async (test) => {
    const owner = await newOwner(test);
    const { organizationId } = owner;
    const { number: alert } = await addLimit(test, { alertOf: organizationId }, { per: "day" });
    const { number: limit } = await addLimit(test, {}, { per: "day" });
    const mailsAfter = async (limit: number, windows: number) => {
      for (let window = 0; window < windows; window++) {
        await note(test, { limit, organizationId, level: window % 2 ? "near" : "reached", window });
      }
      const before = (await test.mails()).length;
      await newMails(test);
      return (await test.mails()).length - before;
    };
    assert.equal(await mailsAfter(alert, alertMailsPerDayMax + 2), alertMailsPerDayMax);
    assert.equal(await mailsAfter(limit, 3), 3);
    await run(test, "DELETE FROM limit_notices");
    test.advance(24 * 3_600_000);
    assert.equal(await mailsAfter(alert, 2), 2);
  },
);

onEveryDatabase("a notice of a limit that was removed causes no email", async (test) => {
  const owner = await newOwner(test);
  const { organizationId } = owner;
  const { number: limit } = await addLimit(test, { organizationId }, { per: "day", quantity: 10 });
  await note(test, { limit, organizationId, level: "near" });
  await run(test, "DELETE FROM usage_limits");
  assert.deepEqual(await newMails(test), []);
  assert.equal(await mailLimitNotices(test.services, test.parts.mailWorker.withheld), false);
});

onEveryDatabase("usage of the past causes no flood of emails", async (test) => {
  const owner = await newOwner(test);
  await newOperator(test);
  const { fullKey } = await createTestKey(test, owner);
  for (const per of ["minute", "day"] as const) {
    await addLimit(test, { organizationId: owner.organizationId }, { per, quantity: 10, mode: "hard" });
  }
  for (let daysAgo = 20; daysAgo >= 0; daysAgo--) {
    const timestamp = new Date(test.now() - daysAgo * 24 * 3_600_000).toISOString();
    await recordOne(test, fullKey, { quantity: 10, timestamp });
  }
  // Two limits, today and yesterday.
  assert.equal((await newMails(test)).length, 2 * 2 * 2);
});

onEveryDatabase("each person can turn emails about limits off and on", async (test) => {
  const owner = await newOwner(test);
  const { organizationId } = owner;
  const admin = await joinedPerson(test, owner, "ADMIN");
  const { number: limit } = await addLimit(test, { organizationId }, { per: "day", quantity: 10 });
  const subject = "Acme has used 80% of a limit";
  const emails = "/api/portal/account/emails";
  const { html } = await assertRows(test, owner, [
    [`PATCH ${emails}`, { limits: false }, 200, { shows: ['{"limits":false,"unusedKeys":true}'] }],
    [`GET ${emails}`, null, 200],
  ]);
  assert.deepEqual(JSON.parse(html), { limits: false, unusedKeys: true });
  await note(test, { limit, organizationId, level: "near" });
  assert.deepEqual(await newMails(test), [`${admin.email}: ${subject}`]);
  await assertRows(test, owner, [
    ["POST /portal/account/emails", { limits: "on" }, 303],
    ["GET /portal/account", null, 200, { shows: [">Turn off emails</button>"] }],
  ]);
  await note(test, { limit, organizationId, level: "near", window: 2 });
  assert.deepEqual(await newMails(test), [admin, owner].map(({ email }) => `${email}: ${subject}`).sort());
});
