// Reports of leaked keys: from anyone, and from GitHub.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { generateApiKey } from "../../../domain/api_key.ts";
import {
  githubKeysKeptMs,
  githubKeysUsedMs,
  leakMailsPerDayMax,
  leakReportsPerMinuteMax,
} from "../../../domain/key_limits.ts";
import { assertError, createTestKey, startTestApp, type TestApp, testApp } from "../../support/app/app.ts";
import {
  documented,
  documentedBefore,
  newSigningKey,
  type SigningKey,
  withGithubKeys,
} from "../../support/network/github_keys.ts";
import { joinedPerson, verifiedPerson } from "../../support/people/people.ts";
import { newKeys, run } from "../../support/people/scene.ts";
import { onEveryDatabase } from "../../support/meter/usage.ts";

const path = "/api/v1/keys/report";
const github = `${path}/github`;
let addresses = 0;

/** Reports a key from an address of its own. */
async function report(test: TestApp, json: unknown): Promise<Response> {
  const peerAddress = `10.9.${++addresses >> 8}.${addresses & 255}`;
  return await test.send(path, { json, peerAddress });
}

async function usageStatus(test: TestApp, apiKey: string): Promise<number> {
  return (await test.send("/api/v1/usage?window=month", { apiKey })).status;
}

async function leakMails(test: TestApp) {
  return (await test.mails()).filter(({ subject }) => /leaked/.test(subject));
}

/** @returns Everything that the database has, as text, except for the keys' hashes. */
async function storedText(test: TestApp): Promise<string> {
  const rows = await Promise.all([
    test.opened.database.read(sql`SELECT * FROM audit_events`),
    test.opened.database.read(sql`SELECT * FROM events`),
    test.opened.database.read(sql`SELECT * FROM outbox`),
    test.opened.database.read(sql`SELECT * FROM api_keys`),
  ]);
  return JSON.stringify(rows);
}

async function actionsAbout(test: TestApp, id: string): Promise<string[]> {
  const rows = await test.opened.database.read<{ action: string }>(sql`
    SELECT action FROM audit_events WHERE target_id = ${id} AND actor_type = 'system' ORDER BY action`);
  return rows.map(({ action }) => action);
}

async function eventsOf(test: TestApp, cookie: string) {
  const response = await test.send("/api/portal/events?limit=100", { cookie });
  const { events } = await response.json() as { events: { type: string; data: Record<string, unknown> }[] };
  return events.filter(({ type }) => /leaked|revoked/.test(type));
}

onEveryDatabase("a reported key is revoked on the next request, its owners notified once", async (test) => {
  const owner = await verifiedPerson(test);
  const { organizationId } = owner;
  await run(test, "UPDATE organizations SET timezone = 'Asia/Tokyo' WHERE id = ?", organizationId);
  const admin = await joinedPerson(test, owner, "ADMIN");
  const creator = await joinedPerson(test, owner, "MEMBER");
  await joinedPerson(test, owner, "MEMBER");
  const { id, fullKey } = await createTestKey(test, creator, { name: "Import www.evil.example" });
  const other = await createTestKey(test, creator);
  assert.equal(await usageStatus(test, fullKey), 200);

  const url = `https://ada:${fullKey}@github.com/a/config.py?key=${fullKey}#${fullKey}`;
  assert.equal((await report(test, { key: fullKey, url })).status, 202);
  assert.equal(await usageStatus(test, fullKey), 401);
  assert.equal(await usageStatus(test, other.fullKey), 200);
  const stored = await storedText(test);
  const mails = await leakMails(test);
  assert.deepEqual(
    mails.map(({ to }) => to).sort(),
    [owner, admin, creator].map(({ email }) => email).sort(),
  );
  const [{ text, html, subject }] = mails as [typeof mails[0]];
  assert.match(subject, /^The API key “Import www\.\u2060evil\.\u2060example” leaked and was revoked$/);
  assert.match(text, /by someone who found it on Nov 21, 23:03 Tokyo\./);
  // Mail programs must not make a link of what a stranger wrote.
  assert.match(
    text,
    /found at https:\u2060\/\/github\.\u2060com\/a\/config\.\u2060py, which we didn't check\./,
  );
  assert.doesNotMatch(html, /href="[^"]*github/);
  assert.match(text, new RegExp(`/portal/api-keys/${id}\n`));
  assert.deepEqual(await actionsAbout(test, id), ["api_key.leaked", "api_key.revoked"]);
  const [leaked, revoked] = (await eventsOf(test, owner.cookie)).toSorted((a, b) => a.type < b.type ? -1 : 1);
  assert.deepEqual([leaked?.type, revoked?.type], ["api_key.leaked", "api_key.revoked"]);
  const { organization: _, ...data } = leaked?.data ?? {};
  assert.deepEqual(data, {
    apiKey: { id, name: "Import www.evil.example", expiresAt: null },
    revoked: true,
    actor: { type: "system", id: null, name: null },
  });

  test.advance(2 * 24 * 3_600_000);
  assert.equal((await report(test, { key: fullKey, url })).status, 202);
  assert.equal((await leakMails(test)).length, mails.length);
  assert.equal((await actionsAbout(test, id)).length, 2);
  for (const place of [stored, await storedText(test), test.logged(), JSON.stringify(mails)]) {
    assert.ok(!place.includes(fullKey.slice(25)), "the key appears nowhere");
  }
  const { cookie } = owner;
  for (const page of [`/portal/api-keys/${id}`, "/portal/api-keys?status=inactive"]) {
    assert.match(await (await test.send(page, { cookie })).text(), /Reported as leaked on /);
  }
  const audit = await (await test.send("/portal/audit", { cookie })).text();
  assert.match(audit, /found at/);
  assert.match(audit, /https:\/\/github\.com\/a\/config\.py/);
  assert.doesNotMatch(audit, /href="https:\/\/github/);
});

testApp("with LEAKED_KEYS=notify, a key keeps working, and owners are notified once a day", async (test) => {
  const owner = await verifiedPerson(test);
  const { id, fullKey } = await createTestKey(test, owner);
  const send = async () => assert.equal((await report(test, { key: fullKey })).status, 202);
  await send();
  await Promise.all([send(), send()]);
  assert.equal(await usageStatus(test, fullKey), 200);
  assert.deepEqual((await leakMails(test)).map(({ subject }) => subject), [
    "The API key “Production” leaked",
  ]);
  test.advance(24 * 3_600_000 - 1);
  await send();
  assert.equal((await leakMails(test)).length, 1);
  test.advance(1);
  await send();
  assert.equal((await leakMails(test)).length, 2);
  assert.deepEqual(await actionsAbout(test, id), ["api_key.leaked", "api_key.leaked"]);
  const events = await eventsOf(test, owner.cookie);
  assert.deepEqual(events.map(({ type, data }) => [type, data["revoked"]]), [
    ["api_key.leaked", false],
    ["api_key.leaked", false],
  ]);
  const page = await (await test.send(`/portal/api-keys/${id}`, { cookie: owner.cookie })).text();
  assert.match(page, /Anyone who has this key can use it/);
}, { LEAKED_KEYS: "notify" });

testApp("the response and its cost don't tell if a key exists", async (test) => {
  const owner = await verifiedPerson(test);
  const [live, revoked] = [await createTestKey(test, owner), await createTestKey(test, owner)];
  await test.send(`/api/portal/api-keys/${revoked.id}`, { method: "DELETE", cookie: owner.cookie });
  const { database } = test.opened;
  const calls: string[] = [];
  const { read, write } = database;
  database.read = (statement) => (calls.push("read"), read.call(database, statement)) as never;
  database.write = async (batch, ...more) => {
    const results = await write.call(database, batch, ...more);
    // Only a batch that changes something waits for the disk.
    calls.push(`write ${results.some(({ changes }) => changes > 0)}`);
    return results;
  };
  const seen = new Set<string>();
  const keys = [live.fullKey, live.fullKey, revoked.fullKey, generateApiKey().fullKey, "hunter2", "é"];
  for (const key of keys) {
    calls.length = 0;
    const response = await report(test, { key, url: "https://example.com/" });
    const headers = [...response.headers].filter(([name]) => name !== "x-request-id");
    seen.add(JSON.stringify([response.status, headers, await response.text(), calls]));
  }
  database.read = read;
  database.write = write;
  assert.deepEqual([...seen].map((one) => JSON.parse(one)[3]), [["read", "write true"]]);
});

testApp("reports are limited by address, and checked", async (test) => {
  const key = generateApiKey().fullKey;
  for (
    const [json, detail] of [
      [{}, "key"],
      [{ key: "" }, "key"],
      [{ key: "k".repeat(513) }, "key"],
      [{ key, url: "javascript:alert(1)" }, "url"],
      [{ key, url: `https://example.com/${"x".repeat(2000)}` }, "url"],
      [{ key, more: 1 }, "more"],
    ] as const
  ) {
    const { error } = await assertError(await report(test, json), 422, "validation_failed");
    assert.equal(error.details?.[0]?.path, detail);
    assert.ok(!JSON.stringify(error).includes(key));
  }
  const peerAddress = "203.0.113.7";
  for (let n = 0; n < leakReportsPerMinuteMax; n++) {
    assert.equal((await test.send(path, { json: { key }, peerAddress })).status, 202);
  }
  const limited = await test.send(path, { json: { key }, peerAddress });
  assert.ok(Number(limited.headers.get("retry-after")) > 0);
  await assertError(limited, 429, "rate_limited");
  assert.equal((await report(test, { key })).status, 202);
  const big = await report(test, { key, url: `https://example.com/${"x".repeat(20_000)}` });
  await assertError(big, 413, "body_too_large");
});

testApp("someone who holds many keys can't flood their owners with emails", async (test) => {
  const owner = await verifiedPerson(test);
  const keys = await newKeys(test, owner.organizationId, leakMailsPerDayMax + 3);
  for (const { fullKey } of keys) await report(test, { key: fullKey });
  assert.equal((await leakMails(test)).length, leakMailsPerDayMax);
  const [row] = await test.opened.database.read(
    sql`SELECT count(*) AS left FROM api_keys WHERE revoked_at IS NULL`,
  );
  assert.equal(row?.["left"], 0);
});

interface SignedReport {
  readonly body: string;
  readonly identifier: string;
  readonly signature: string;
}

async function sendSigned(test: TestApp, { body, identifier, signature }: SignedReport): Promise<Response> {
  return await test.send(github, {
    body,
    method: "POST",
    headers: {
      "content-type": "application/json",
      "github-public-key-identifier": identifier,
      "github-public-key-signature": signature,
    },
  });
}

const signed = (key: SigningKey, body: string): SignedReport => ({
  body,
  identifier: key.identifier,
  signature: key.sign(body),
});

/** Runs a test with an app that reads GitHub's keys from a server of the test. */
function githubTest(
  name: string,
  run: (test: TestApp, list: Parameters<Parameters<typeof withGithubKeys>[0]>[0]) => Promise<void>,
) {
  Deno.test(name, () =>
    withGithubKeys(async (list, url) => {
      const test = await startTestApp({ GITHUB_KEYS_URL: url });
      try {
        await run(test, list);
      } finally {
        await test.dispose();
      }
    }));
}

githubTest("GitHub's documented examples are accepted, and nothing else", async (test, list) => {
  list.keys = [documented, documentedBefore];
  for (const example of [documented, documentedBefore]) {
    const response = await sendSigned(test, example);
    assert.deepEqual([response.status, await response.text()], [202, ""]);
    const { body, signature } = example;
    const swapped = example === documented ? documentedBefore : documented;
    for (
      const wrong of [
        { body: body.replace("some_token", "some_tokem") },
        { body: `${body}\n` },
        { body: body.replace(",", ", ") },
        { signature: swapped.signature },
        { identifier: swapped.identifier },
        { identifier: "0".repeat(64) },
        { identifier: "not hexadecimal" },
        { signature: "" },
        { signature: "!" },
        { signature: signature.slice(0, -8) },
      ]
    ) await assertError(await sendSigned(test, { ...example, ...wrong }), 403, "invalid_signature");
  }
});

githubTest("keys that GitHub reports are revoked, with where they were found", async (test, list) => {
  const key = newSigningKey("aa");
  list.keys = [key];
  const owner = await verifiedPerson(test);
  const keys = await newKeys(test, owner.organizationId, 120);
  const url = "https://github.com/octocat/Hello-World/blob/1234/foo/bar.txt";
  const found = keys.map(({ fullKey }) => ({
    token: fullKey,
    type: "gatehouse_api_key",
    url,
    source: "content",
  }));
  const others = [
    { token: generateApiKey().fullKey, type: "gatehouse_api_key", url: "" },
    { token: "", type: "x", url: null },
    { token: "x".repeat(600), type: "x", url: "not a URL", later: { field: 1 } },
  ];
  const body = JSON.stringify([...others, ...found, found[0]]);
  assert.ok(body.length > 16 * 1024);
  assert.equal((await sendSigned(test, signed(key, body))).status, 202);
  const [row] = await test.opened.database.read(sql`
  SELECT count(*) AS left FROM api_keys WHERE revoked_at IS NULL`);
  assert.equal(row?.["left"], 0);
  const entries = await test.opened.database.read<{ details: string }>(sql`
  SELECT details FROM audit_events WHERE action = 'api_key.leaked'`);
  assert.equal(entries.length, 120);
  assert.deepEqual(JSON.parse(entries[0]?.details ?? ""), { source: "GitHub", response: "revoked", url });
  assert.match((await leakMails(test))[0]?.text ?? "", /reported as leaked by GitHub on /);
  await assertError(await sendSigned(test, signed(key, '{"token":"x"}')), 422, "validation_failed");
  assert.equal(list.requests, 1);
});

githubTest("GitHub's list is read hourly and for new keys, and reports wait for it", async (test, list) => {
  const [old, current, p384] = [newSigningKey("01"), newSigningKey("02"), newSigningKey("03", "P-384")];
  const send = (key: SigningKey) => sendSigned(test, signed(key, "[]"));
  list.status = 403;
  const unread = await send(old);
  assert.equal(unread.headers.get("retry-after"), "60");
  await assertError(unread, 503, "unavailable");
  await assertError(await send(old), 503, "unavailable");
  assert.equal(list.requests, 1, "a failure is not retried immediately");
  list.status = 200;
  list.keys = [old, p384];
  test.advance(60_000);
  assert.equal((await send(old)).status, 202);
  await assertError(await send(p384), 403, "invalid_signature");
  list.keys = [current, old];
  await assertError(await send(current), 403, "invalid_signature");
  assert.equal(list.requests, 2, "unknown keys are looked up at most once a minute");
  test.advance(60_000);
  assert.equal((await send(current)).status, 202);
  assert.equal((await send(old)).status, 202, "a listed key need not be the current one");
  assert.equal(list.requests, 3);
  list.keys = [current];
  test.advance(githubKeysKeptMs);
  await assertError(await send(old), 403, "invalid_signature");
  list.status = 500;
  test.advance(githubKeysUsedMs - 1);
  assert.equal((await send(current)).status, 202, "the last list is used for a day");
  await assertError(await send(old), 503, "unavailable");
  test.advance(60_000);
  await assertError(await send(current), 503, "unavailable");
});

githubTest("an address that sends invalid signatures is limited", async (test, list) => {
  list.keys = [documented];
  for (let n = 0; n < leakReportsPerMinuteMax; n++) {
    await assertError(await sendSigned(test, { ...documented, body: "[]" }), 403, "invalid_signature");
  }
  await assertError(await sendSigned(test, documented), 429, "rate_limited");
  assert.equal(list.requests, 1);
});
