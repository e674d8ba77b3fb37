// Emails about keys that expire soon, and about keys that nobody uses: who gets them, and that each is sent once with several servers.
import assert from "node:assert/strict";
import { mailedKeysMax, unusedKeysOrganizationsMax } from "../../../domain/keys/key_limits.ts";
import { remindOfUnusedKeys } from "../../../services/keys/unused_keys.ts";
import { noteExpiringKeys } from "../../../services/keys/expiring_keys.ts";
import { createTestKey, type TestApp } from "../../support/app/app.ts";
import { assertRows } from "../../support/app/rows.ts";
import { flakyDatabase } from "../../support/database/flaky.ts";
import { onEveryDatabase } from "../../support/meter/usage.ts";
import { joinedPerson, verifiedPerson } from "../../support/people/people.ts";
import { newKeys, run } from "../../support/people/scene.ts";

const dayMs = 24 * 3_600_000;

type Step = (context: TestApp["services"]) => Promise<boolean>;

/** Two servers do what is due, at the same time; every third write fails, or is made without a result. @returns The new emails. */
async function newMails(test: TestApp, step: Step) {
  const failure = (write: number) => write % 6 === 1 ? "before" : write % 6 === 4 ? "after" : null;
  const failing = { ...test.services, database: flakyDatabase(test.opened.database, failure) };
  const before = (await test.mails()).length;
  const server = async () => {
    for (let isMore = true; isMore;) isMore = await step(failing).catch(() => true);
  };
  await Promise.all([server(), server()]);
  return (await test.mails()).slice(before);
}

const subjects = (mails: readonly { to: string; subject: string }[]) =>
  mails.map(({ to, subject }) => `${to}: ${subject}`).sort();

onEveryDatabase(
  "keys that expire soon are one email to their creator, or to owners without one",
  async (test) => {
    const owner = await verifiedPerson(test);
    const { organizationId } = owner;
    await run(
      test,
      "UPDATE organizations SET name = 'Acme', timezone = 'Asia/Tokyo' WHERE id = ?",
      organizationId,
    );
    await joinedPerson(test, owner, "ADMIN");
    const member = await joinedPerson(test, owner, "MEMBER");
    const unconfirmed = await test.signUp();
    assert.deepEqual(await newMails(test, noteExpiringKeys), []);
    const expiresAt = test.now() + 8 * dayMs;
    const many = await newKeys(test, organizationId, 50);
    await run(test, "UPDATE api_keys SET created_by = ?", member.userId);
    const [ownerless, theirs] = await newKeys(test, organizationId, 2);
    await run(test, "UPDATE api_keys SET created_by = ? WHERE id = ?", unconfirmed.userId, theirs?.id ?? "");
    await run(test, "UPDATE api_keys SET name = 'No creator' WHERE id = ?", ownerless?.id ?? "");
    await run(test, "UPDATE api_keys SET expires_at = ?1, remind_at = ?1 - ?2", expiresAt, 7 * dayMs);
    await createTestKey(test, unconfirmed, { expiresAt: new Date(expiresAt).toISOString() });
    await run(test, "UPDATE api_keys SET revoked_at = 1 WHERE id = ?", many[49]?.id ?? "");

    const expected = [
      `${member.email}: 49 API keys expire soon`,
      // The key without a creator, and one whose creator is no member.
      `${owner.email}: 2 API keys expire soon`,
    ].sort();
    for (const aheadMs of [7 * dayMs, dayMs]) {
      test.advance(expiresAt - aheadMs - test.now());
      const mails = await newMails(test, noteExpiringKeys);
      assert.deepEqual(subjects(mails), expected);
      const text = mails.find(({ to }) => to === member.email)?.text ?? "";
      assert.equal(text.split(`“Key” (service_live_`).length - 1, mailedKeysMax);
      assert.match(text, /…\) of Acme expires on Nov 29, 23:03 Tokyo\./);
      assert.match(text, /And 29 more\./);
      assert.match(mails.find(({ to }) => to === owner.email)?.text ?? "", /“No creator”/);
      assert.deepEqual(await newMails(test, noteExpiringKeys), []);
    }
  },
);

onEveryDatabase(
  "keys that weren't used for 90 days are one email a month to owners and admins",
  async (test) => {
    const owner = await verifiedPerson(test);
    const { organizationId } = owner;
    await run(test, "UPDATE organizations SET name = 'Acme' WHERE id = ?", organizationId);
    const admin = await joinedPerson(test, owner, "ADMIN");
    await joinedPerson(test, owner, "MEMBER");
    // More organizations than one step reads.
    for (let n = 0; n < unusedKeysOrganizationsMax; n++) {
      await run(test, "INSERT INTO organizations (id, name, created_at) VALUES (?, 'Empty', 1)", `org_${n}`);
    }
    const quiet = await verifiedPerson(test);
    const count = 110;
    const keys = await newKeys(test, organizationId, count);
    await newKeys(test, quiet.organizationId, 1);
    const set = (change: string, n: number) =>
      run(test, `UPDATE api_keys SET ${change} WHERE id = ?`, keys[n]?.id ?? "");
    await set("revoked_at = 1", 0);
    await set(`last_used_at = ${test.now() + 40 * dayMs}`, 1);
    await set(`expires_at = ${test.now() + dayMs}`, 2);
    await set(`lineage = (SELECT lineage FROM api_keys WHERE id = '${keys[3]?.id}')`, count - 1);
    await set(`created_at = ${test.now() + 40 * dayMs}`, 4);
    await run(test, "UPDATE organizations SET suspended_at = 1 WHERE id = ?", quiet.organizationId);

    // The first server to run this sends nothing before the next month, in which no key is that old.
    test.advance(dayMs);
    assert.deepEqual(await newMails(test, remindOfUnusedKeys), []);
    test.advance(Date.UTC(2026, 11, 1) - test.now());
    assert.deepEqual(await newMails(test, remindOfUnusedKeys), []);
    await assertRows(test, owner, [["GET /portal/account", null, 200, {
      shows: ["Emails about unused keys"],
    }]]);

    const subject = `Acme has ${(count - 5).toLocaleString("en")} unused API keys`;
    const both = [admin, owner].map(({ email }) => `${email}: ${subject}`).sort();
    test.advance(Date.UTC(2027, 2, 1) - test.now());
    const mails = await newMails(test, remindOfUnusedKeys);
    assert.deepEqual(subjects(mails), both);
    const text = mails[0]?.text ?? "";
    assert.equal(text.split("“Key”").length - 1, mailedKeysMax);
    assert.match(text, new RegExp(`And ${(count - 5 - mailedKeysMax).toLocaleString("en")} more\\.`));
    assert.match(text, /turn it off in your account: http:\/\/localhost:8000\/portal\/account/);
    for (let day = 0; day < 3; day++) {
      test.advance(10 * dayMs - 1);
      assert.deepEqual(await newMails(test, remindOfUnusedKeys), []);
    }

    const emails = "/api/portal/account/emails";
    await assertRows(test, admin, [
      [`PATCH ${emails}`, { unusedKeys: false }, 200, { shows: ['{"limits":true,"unusedKeys":false}'] }],
      [`GET ${emails}`, null, 200, { shows: ['{"limits":true,"unusedKeys":false}'] }],
      ["GET /portal/account", null, 200, { shows: ["Turn on these emails"] }],
    ]);
    test.advance(Date.UTC(2027, 3, 1) - test.now());
    // The keys of the others are older now, too.
    const later = `${owner.email}: Acme has ${(count - 3).toLocaleString("en")} unused API keys`;
    assert.deepEqual(subjects(await newMails(test, remindOfUnusedKeys)), [later]);
    await assertRows(test, admin, [["POST /portal/account/emails", { unusedKeys: "on" }, 303]]);
    // No server ran in April, and the clock was set back over the end of the month.
    test.advance(Date.UTC(2027, 4, 2) - test.now());
    assert.equal((await newMails(test, remindOfUnusedKeys)).length, 2);
    test.advance(Date.UTC(2027, 3, 30) - test.now());
    assert.deepEqual(await newMails(test, remindOfUnusedKeys), []);
  },
  { SESSION_MAX_DAYS: "365", SESSION_IDLE_DAYS: "365" },
);
