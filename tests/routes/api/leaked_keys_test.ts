// Reports of leaked keys: from anyone, and from GitHub.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { generateApiKey } from "../../../domain/keys/api_key.ts";
import {
  githubKeysKeptMs,
  githubKeysUsedMs,
  leakMailsPerDayMax,
  leakReportsPerMinuteMax,
} from "../../../domain/keys/key_limits.ts";
import {
  assertError,
  createTestKey,
  startTestApp,
  type TestApp,
  testApp,
  type TestPerson,
} from "../../support/app/app.ts";
import { assertOutcome, assertRows, fetchJson, type Row } from "../../support/app/rows.ts";
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

const assertUsable = (test: TestApp, apiKey: string, status: number) =>
  assertOutcome(test.send("/api/v1/usage?window=month", { apiKey }), status);

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

async function eventsOf(test: TestApp, person: TestPerson) {
  const { events } = await fetchJson(test, person, "GET /api/portal/events?limit=100") as {
    events: { type: string; data: Record<string, unknown> }[];
  };
  return events.filter(({ type }) => /leaked|revoked/.test(type));
}

onEveryDatabase("a reported key is revoked on the next request, its owners notified once", async (test) => {
  const owner = await verifiedPerson(test);
  await run(test, "UPDATE organizations SET timezone = 'Asia/Tokyo' WHERE id = ?", owner.organizationId);
  const admin = await joinedPerson(test, owner, "ADMIN");
  const creator = await joinedPerson(test, owner, "MEMBER");
  await joinedPerson(test, owner, "MEMBER");
  const { id, fullKey } = await createTestKey(test, creator, { name: "Import www.evil.example" });
  const other = await createTestKey(test, creator);
  await assertUsable(test, fullKey, 200);

  const url = `https://ada:${fullKey}@github.com/a/config.py?key=${fullKey}#${fullKey}`;
  await assertOutcome(report(test, { key: fullKey, url }), 202);
  await assertUsable(test, fullKey, 401);
  await assertUsable(test, other.fullKey, 200);
  const stored = await storedText(test);
  const mails = await leakMails(test);
  const told = [owner, admin, creator].map(({ email }) => email);
  assert.deepEqual(mails.map(({ to }) => to).sort(), told.sort());
  const [{ text, html, subject }] = mails as [typeof mails[0]];
  assert.match(subject, /^The API key “Import www\.\u2060evil\.\u2060example” leaked and was revoked$/);
  assert.match(text, /by someone who found it on Nov 21, 23:03 Tokyo\./);
  // Mail programs must not make a link of what a stranger wrote.
  const found = /found at https:\u2060\/\/github\.\u2060com\/a\/config\.\u2060py, which we didn't check\./;
  assert.match(text, found);
  assert.doesNotMatch(html, /href="[^"]*github/);
  assert.match(text, new RegExp(`/portal/api-keys/${id}\n`));
  assert.deepEqual(await actionsAbout(test, id), ["api_key.leaked", "api_key.revoked"]);
  const events = (await eventsOf(test, owner)).toSorted((a, b) => a.type < b.type ? -1 : 1);
  assert.deepEqual(events.map(({ type }) => type), ["api_key.leaked", "api_key.revoked"]);
  const { organization: _, ...data } = events[0]?.data ?? {};
  assert.deepEqual(data, {
    apiKey: { id, name: "Import www.evil.example", expiresAt: null },
    revoked: true,
    actor: { type: "system", id: null, name: null },
  });

  test.advance(2 * 24 * 3_600_000);
  await assertOutcome(report(test, { key: fullKey, url }), 202);
  assert.equal((await leakMails(test)).length, mails.length);
  assert.equal((await actionsAbout(test, id)).length, 2);
  for (const place of [stored, await storedText(test), test.logged(), JSON.stringify(mails)]) {
    assert.ok(!place.includes(fullKey.slice(25)), "the key appears nowhere");
  }
  await assertRows(test, owner, [
    [`GET /portal/api-keys/${id}`, null, 200, { shows: ["Reported as leaked on "] }],
    ["GET /portal/api-keys?status=inactive", null, 200, { shows: ["Reported as leaked on "] }],
    ["GET /portal/audit", null, 200, {
      shows: ["found at", "https://github.com/a/config.py"],
      hides: ['href="https://github'],
    }],
  ]);
});

testApp("with LEAKED_KEYS=notify, a key keeps working, and owners are notified once a day", async (test) => {
  const owner = await verifiedPerson(test);
  const { id, fullKey } = await createTestKey(test, owner);
  const send = () => assertOutcome(report(test, { key: fullKey }), 202);
  const subject = "The API key “Production” leaked";
  const assertMails = async (count: number) =>
    assert.deepEqual((await leakMails(test)).map(({ subject }) => subject), Array(count).fill(subject));
  await send();
  await Promise.all([send(), send()]);
  await assertUsable(test, fullKey, 200);
  await assertMails(1);
  test.advance(24 * 3_600_000 - 1);
  await send();
  await assertMails(1);
  test.advance(1);
  await send();
  await assertMails(2);
  assert.deepEqual(await actionsAbout(test, id), ["api_key.leaked", "api_key.leaked"]);
  const events = (await eventsOf(test, owner)).map(({ type, data }) => [type, data["revoked"]]);
  assert.deepEqual(events, [["api_key.leaked", false], ["api_key.leaked", false]]);
  const shown = { shows: ["Anyone who has this key can use it"] };
  await assertRows(test, owner, [[`GET /portal/api-keys/${id}`, null, 200, shown]]);
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
  const reported = [`POST ${path}`, { key }] as const;
  const at = (length: number) => `https://example.com/${"x".repeat(length)}`;
  const invalid: readonly (readonly [json: Row[1], detail: string])[] = [
    [{}, "key"],
    [{ key: "" }, "key"],
    [{ key: "k".repeat(513) }, "key"],
    [{ key, url: "javascript:alert(1)" }, "url"],
    [{ key, url: at(2000) }, "url"],
    [{ key, more: 1 }, "more"],
  ];
  await assertRows(test, { peerAddress: "203.0.113.6" }, [
    ...invalid.map(([json, detail]): Row => [
      `POST ${path}`,
      json,
      `422 validation_failed ${detail}`,
      { hides: [key] },
    ]),
    [`POST ${path}`, { key, url: at(20_000) }, "413 body_too_large"],
  ]);
  const { answer } = await assertRows(test, { peerAddress: "203.0.113.7" }, [
    ...Array<Row>(leakReportsPerMinuteMax).fill([...reported, 202]),
    [...reported, "429 rate_limited"],
  ]);
  assert.ok(Number(answer.headers.get("retry-after")) > 0);
  await assertRows(test, { peerAddress: "203.0.113.8" }, [[...reported, 202]]);
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
  const assertSigned = (key: SigningKey, outcome: string, requests: number, why = "") =>
    assertOutcome(sendSigned(test, signed(key, "[]")), outcome)
      .then(() => assert.equal(list.requests, requests, why));
  const [accepted, rejected, later] = ["202", "403 invalid_signature", "503 unavailable"] as const;
  list.status = 403;
  const unread = await sendSigned(test, signed(old, "[]"));
  assert.deepEqual([unread.status, unread.headers.get("retry-after")], [503, "60"]);
  await assertSigned(old, later, 1, "a failure is not retried immediately");
  list.status = 200;
  list.keys = [old, p384];
  test.advance(60_000);
  await assertSigned(old, accepted, 2);
  await assertSigned(p384, rejected, 2);
  list.keys = [current, old];
  await assertSigned(current, rejected, 2, "unknown keys are looked up at most once a minute");
  test.advance(60_000);
  await assertSigned(current, accepted, 3);
  await assertSigned(old, accepted, 3, "a listed key need not be the current one");
  list.keys = [current];
  test.advance(githubKeysKeptMs);
  await assertSigned(old, rejected, 4);
  list.status = 500;
  test.advance(githubKeysUsedMs - 1);
  await assertSigned(current, accepted, 5, "the last list is used for a day");
  await assertSigned(old, later, 5);
  test.advance(60_000);
  await assertSigned(current, later, 6);
});

githubTest("an address that sends invalid signatures is limited", async (test, list) => {
  list.keys = [documented];
  for (let n = 0; n < leakReportsPerMinuteMax; n++) {
    await assertError(await sendSigned(test, { ...documented, body: "[]" }), 403, "invalid_signature");
  }
  await assertError(await sendSigned(test, documented), 429, "rate_limited");
  assert.equal(list.requests, 1);
});
