// Metadata documents that lie, redirect, change, stall or grow, and people who want too much of them.
import assert from "node:assert/strict";
import {
  addressOf,
  exchange,
  minuteMs,
  newPerson,
  open,
  type Publisher,
  refresh,
  signIn,
  withPublisher,
} from "../../support/oauth/documents.ts";
import { answerOf, consentForm, consentTo, post } from "../../support/oauth/scene.ts";
import { run } from "../../support/people/scene.ts";

withPublisher("reads nothing for strangers and programs, nor from other hosts", async (publisher) => {
  const { test, host, asked } = publisher;
  const id = publisher.document("/client.json");
  const stranger = await open(publisher, null, addressOf(id));
  assert.match(stranger.location ?? "", /^\/sign-in\?return_to=/);
  assert.equal((await open(publisher, null, addressOf(id, { prompt: "none" }))).status, 400);
  const { cookie: unconfirmedCookie } = await test.signUp();
  const unconfirmed = await open(publisher, unconfirmedCookie, addressOf(id));
  assert.equal(unconfirmed.status, 403);
  assert.match(unconfirmed.text, /Confirm your email address/);
  for (const path of ["/oauth/token", "/oauth/device", "/oauth/revoke"]) {
    const { body } = await post(test, path, { client_id: id, grant_type: "refresh_token", token: "x" });
    assert.equal(body.error, "invalid_client", path);
  }
  const { cookie } = await newPerson(publisher);
  const [name = "", port = ""] = host.split(":");
  const others = [
    `https://${name}:${Number(port) + 1}/client.json`,
    `https://${name}/client.json`,
    `https://user@${host}/client.json`,
    `https://${host}/x/../client.json`,
    `https://${host}/client.json#x`,
    `HTTPS://${host}/client.json`,
    `http://${host}/client.json`,
    `https://evil.example/?${host}`,
    `https://${host}/${"a".repeat(500)}`,
  ];
  for (const other of others) {
    for (const who of [cookie, unconfirmedCookie, null]) {
      const { status, text } = await open(publisher, who, addressOf(other));
      assert.equal(status, 400, other);
      assert.match(text, /unknown or disabled/, other);
    }
  }
  assert.deepEqual(asked, []);
});

withPublisher("rejects documents that lie", async (publisher) => {
  const { test } = publisher;
  const lies: Record<string, unknown>[] = [
    { client_id: "https://other.example/client.json" },
    { client_id: undefined },
    { client_secret: "x" },
    { client_secret_expires_at: 0 },
    { token_endpoint_auth_method: "client_secret_basic" },
    { token_endpoint_auth_method: "private_key_jwt" },
    { token_endpoint_auth_method: "private_key_jwt", jwks_uri: "https://other.example/keys" },
    { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [{ kty: "oct", k: "x" }] } },
    { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [{ kty: "EC", d: "x" }] } },
    { redirect_uris: undefined },
    { redirect_uris: [] },
    { redirect_uris: [1] },
    { redirect_uris: ["com.example.app:/callback"] },
    { redirect_uris: ["http://app.example.com/callback"] },
    { redirect_uris: ["javascript:alert(1)"] },
    { redirect_uris: Array.from({ length: 41 }, (_, index) => `https://app.example.com/${index}`) },
    { grant_types: ["client_credentials"] },
    { response_types: ["token"] },
  ];
  for (const [index, lie] of lies.entries()) {
    const person = await newPerson(publisher);
    const id = publisher.document(`/${index}`, lie);
    const { status, location, text } = await open(publisher, person.cookie, addressOf(id));
    assert.deepEqual([status, location], [400, null], JSON.stringify(lie));
    assert.match(text, /metadata document/);
  }
  const { rows } = await count(test, "oauth_documents");
  assert.equal(rows, 0);
});

const count = async ({ opened }: Publisher["test"], table: string) =>
  await opened.database.readFirst<{ rows: number }>({
    sql: `SELECT count(*) AS rows FROM ${table}`,
    args: [],
  }) ?? { rows: -1 };

withPublisher(
  "rejects responses that redirect, grow or are no JSON, and asks again only after a minute",
  async (publisher) => {
    const { test, asked } = publisher;
    const { cookie } = await newPerson(publisher);
    const id = publisher.document("/client.json");
    const valid = publisher.publish;
    const bad: (() => Response)[] = [
      () => Response.redirect(`https://${publisher.host}/other.json`, 302),
      () => new Response("", { status: 500 }),
      () => new Response("<html>", { headers: { "content-type": "text/html" } }),
      () => new Response("{", { headers: { "content-type": "application/json" } }),
      () => new Response("[".repeat(60_000), { headers: { "content-type": "application/json" } }),
      () =>
        new Response(
          new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(16_384).fill(32)) }),
          { headers: { "content-type": "application/json" } },
        ),
    ];
    for (const respond of bad) {
      asked.length = 0;
      publisher.publish = respond;
      const first = await open(publisher, cookie, addressOf(id));
      assert.ok([400, 503].includes(first.status), first.text);
      assert.equal(first.location, null);
      publisher.publish = valid;
      assert.equal((await open(publisher, cookie, addressOf(id))).status, 503);
      assert.deepEqual(asked, ["/client.json"]);
      test.advance(minuteMs + 1);
    }
    assert.equal((await open(publisher, cookie, addressOf(id))).status, 200);
  },
);

withPublisher("gives up on a document that stalls", async (publisher) => {
  const { cookie } = await newPerson(publisher);
  const stalled = Promise.withResolvers<Response>();
  publisher.publish = () => stalled.promise;
  const { status, text } = await open(publisher, cookie, addressOf(`https://${publisher.host}/client.json`));
  assert.equal(status, 503);
  assert.match(text, /respond within/);
  stalled.resolve(new Response());
}, { timeoutMs: 100 });

withPublisher(
  "sends one request when many people arrive together, and limits those for one person",
  async (publisher) => {
    const { asked } = publisher;
    const people = await Promise.all(Array.from({ length: 5 }, () => newPerson(publisher)));
    const id = publisher.document("/client.json");
    const answers = await Promise.all(people.map(({ cookie }) => open(publisher, cookie, addressOf(id))));
    assert.deepEqual(answers.map(({ status }) => status), [200, 200, 200, 200, 200]);
    assert.deepEqual(asked, ["/client.json"]);
    // One person can neither read more documents in a minute, nor more at the same time.
    const [one, other] = people as [typeof people[0], typeof people[0]];
    const begun = Promise.withResolvers<Response>();
    const valid = publisher.publish;
    publisher.publish = async () => (await begun.promise).clone();
    const waiting = Array.from(
      { length: 6 },
      (_, index) => open(publisher, one!.cookie, addressOf(`https://${publisher.host}/slow${index}`)),
    );
    const busy = await Promise.race(waiting);
    assert.equal(busy.status, 503);
    begun.resolve(new Response("", { status: 404 }));
    assert.equal((await Promise.all(waiting)).filter(({ status }) => status === 503).length, 2);
    publisher.publish = valid;
    const statuses = [];
    for (let index = 0; index < 16; index++) {
      statuses.push(
        (await open(publisher, one!.cookie, addressOf(`https://${publisher.host}/x${index}`))).status,
      );
    }
    assert.equal(statuses.at(-1), 429);
    assert.equal(
      (await open(publisher, other!.cookie, addressOf(publisher.document("/b.json")))).status,
      200,
    );
  },
);

withPublisher(
  "shows errors as a page until the person has consented, and then sends them",
  async (publisher) => {
    const { test } = publisher;
    const person = await newPerson(publisher);
    const id = publisher.document("/client.json");
    const wrong = [
      { response_type: "token" },
      { scope: "unknown" },
      { code_challenge: null, code_challenge_method: null },
      { prompt: "none" },
      { resource: "https://unknown.example" },
    ];
    for (const changes of wrong) {
      const { status, location } = await open(publisher, person.cookie, addressOf(id, changes));
      assert.deepEqual([status, location], [400, null], JSON.stringify(changes));
    }
    const { form, cookie } = await consentForm(test, person, addressOf(id));
    const denied = await test.send("/authorize/decision", { form: { ...form, decision: "deny" }, cookie });
    assert.doesNotMatch(await denied.text(), /https:\/\/app\.example\.com/);
    await consentTo(test, person, addressOf(id));
    assert.equal(
      (await answerOf(test, person, addressOf(id, { scope: "unknown" }))).get("error"),
      "invalid_scope",
    );
    // Someone else hasn't.
    const other = await newPerson(publisher);
    assert.equal((await open(publisher, other.cookie, addressOf(id, { scope: "unknown" }))).status, 400);
  },
);

withPublisher("leads no one on after signing out until they have consented", async (publisher) => {
  const { test } = publisher;
  const returnUri = "https://evil.example/signed-out";
  const id = publisher.document("/client.json", { post_logout_redirect_uris: [returnUri] });
  const person = await newPerson(publisher);
  const { id_token: hint } = await signIn(publisher, id, person);
  const back = { client_id: id, post_logout_redirect_uri: returnUri };
  const logout = (cookie: string | null, more = {}) =>
    open(publisher, cookie, `/oauth/logout?${new URLSearchParams({ ...back, ...more })}`);
  const confirm = async ({ cookie }: { cookie?: string }) => {
    const response = await test.send("/sign-out/confirm", {
      form: back,
      ...(cookie === undefined ? {} : { cookie }),
    });
    return `${response.headers.get("location") ?? ""} ${await response.text()}`;
  };
  const stranger = await newPerson(publisher);
  for (const more of [{}, { id_token_hint: hint }]) {
    assert.equal((await logout(null, more)).location, "/sign-in?signed_out=1");
    assert.equal((await logout(stranger.cookie, more)).location, null);
  }
  assert.doesNotMatch(await confirm({}), /evil\.example/);
  assert.doesNotMatch(await confirm(stranger), /evil\.example/);

  const other = await newPerson(publisher);
  await signIn(publisher, id, other);
  assert.match(await confirm(other), /https:\/\/evil\.example\/signed-out/);
  // The token of this session is enough, also if the consent has ended.
  await run(test, "DELETE FROM oauth_consents WHERE user_id = ?", person.userId);
  assert.equal((await logout(person.cookie, { id_token_hint: hint })).location, returnUri);
});

withPublisher(
  "asks again when the document changes, and not for what was shown before",
  async (publisher) => {
    const { test, asked } = publisher;
    const person = await newPerson(publisher);
    const id = publisher.document("/client.json");
    const tokens = await signIn(publisher, id, person);
    const unused = (await answerOf(test, person, addressOf(id))).get("code") ?? "";
    const before = await consentForm(test, person, addressOf(id, { prompt: "consent" }));
    publisher.document("/client.json", { client_name: "Your bank" });
    // An hour is the default.
    test.advance(59 * minuteMs);
    assert.notEqual((await answerOf(test, person, addressOf(id))).get("code"), null);
    test.advance(2 * minuteMs);
    assert.equal((await open(publisher, person.cookie, addressOf(id))).status, 200);
    assert.deepEqual(asked, ["/client.json", "/client.json"]);
    assert.equal((await exchange(publisher, id, unused)).body.error, "invalid_grant");
    const outdated = await test.send("/authorize/decision", { form: before.form, cookie: before.cookie });
    assert.equal(outdated.status, 400);
    // A refresh uses the stored copy, even when the document is gone.
    publisher.publish = () => new Response("", { status: 404 });
    test.advance(25 * 60 * minuteMs);
    assert.equal((await refresh(publisher, id, tokens.refresh_token)).status, 200);
    assert.equal(asked.length, 2);
  },
);

withPublisher(
  "rejects the consent form of a document that has another address to return to",
  async (publisher) => {
    const { test } = publisher;
    const [person, other] = [await newPerson(publisher), await newPerson(publisher)];
    const valid = publisher.publish;
    publisher.publish = async (path) => {
      const response = await valid(path);
      response.headers.set("cache-control", "no-store");
      return response;
    };
    const id = publisher.document("/client.json");
    const { form, cookie } = await consentForm(test, person, addressOf(id));
    const uris = ["https://app.example.com/callback", "https://evil.example/callback"];
    publisher.document("/client.json", { redirect_uris: uris });
    test.advance(minuteMs);
    assert.equal((await open(publisher, other.cookie, addressOf(id))).status, 200);
    const response = await test.send("/authorize/decision", { form, cookie });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /This page is out of date/);
  },
);

withPublisher("keeps the allowed applications of a person within their maximum", async (publisher) => {
  const { test } = publisher;
  const person = await newPerson(publisher);
  const statements = Array.from({ length: 100 }, (_, index) => [
    {
      sql:
        "INSERT INTO oauth_clients (id, name, type, grants, redirect_uris, post_logout_redirect_uris, scopes, created_at) " +
        "VALUES (?, 'X', 'public', '[]', '[]', '[]', '[]', 0)",
      args: [`https://a.example/${index}`],
    },
    {
      sql:
        "INSERT INTO oauth_consents (user_id, client_id, organization_id, resource_id, scopes, created_at) VALUES (?, ?, '', '', 'openid', 0)",
      args: [person.userId, `https://a.example/${index}`],
    },
  ]).flat();
  await test.opened.database.write(statements);
  const id = publisher.document("/client.json");
  const { form, cookie } = await consentForm(test, person, addressOf(id));
  const response = await test.send("/authorize/decision", { form, cookie });
  assert.equal(response.status, 400);
  assert.match(await response.text(), /too many applications/);
});

withPublisher("replaces documents that nobody uses when there are too many", async (publisher) => {
  const { test } = publisher;
  const person = await newPerson(publisher);
  const kept = publisher.document("/kept.json");
  await consentTo(test, person, addressOf(kept));
  const fill = (table: string, columns: string, values: string) => ({
    sql: `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
      INSERT INTO ${table} (${columns}) SELECT ${values} FROM n`,
    args: [],
  });
  await test.opened.database.write([
    fill(
      "oauth_clients",
      "id, name, type, grants, redirect_uris, post_logout_redirect_uris, scopes, created_at",
      "'https://a.example/' || i, 'X', 'public', '[]', '[]', '[]', '[]', 0",
    ),
    fill(
      "oauth_documents",
      "id, client_id, host, content_hash, read_at, fresh_until",
      "'doc_' || i, 'https://a.example/' || i, 'a.example', '', i, 0",
    ),
  ]);
  assert.equal((await count(test, "oauth_documents")).rows, 10_000);
  assert.equal(
    (await open(publisher, person.cookie, addressOf(publisher.document("/new.json")))).status,
    200,
  );
  assert.ok((await count(test, "oauth_documents")).rows < 10_000);
  assert.notEqual((await answerOf(test, person, addressOf(kept))).get("code"), null);
});
