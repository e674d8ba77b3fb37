// Applications over the operators' API: adding, changing, rotating and deleting them, what is rejected, and what ends.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { newId } from "../../../../domain/id.ts";
import { hashSecretToken, isWellFormedSecretToken } from "../../../../domain/secret_token.ts";
import { type TestApp, testApp } from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { assertSent, senderOf } from "../../../support/operators/operator_api.ts";
import { run } from "../../../support/people/scene.ts";

const path = "/api/operator/clients";
const settings = { SECRETS_KEY: btoa("7".repeat(32)) };
const redirectUris = ["https://grafana.example.com/login/generic_oauth"];
const grafana = { name: "Grafana", type: "confidential", redirectUris };

async function operatorOf(test: TestApp) {
  const { cookie, userId } = await newOperator(test);
  return { send: senderOf(test, { path, cookie }), userId };
}

testApp(
  "adds, changes, rotates and deletes an application, and audits each change",
  async (test) => {
    const { send, userId } = await operatorOf(test);
    const created = await send("POST", grafana);
    assert.equal(created.status, 201, JSON.stringify(created.body));
    const { client, secret } = created.body;
    assert.match(client.id, /^cli_[0-9a-f]{32}$/);
    assert.deepEqual(client, {
      ...grafana,
      id: client.id,
      enabled: true,
      grants: ["authorization_code", "refresh_token"],
      postLogoutRedirectUris: [],
      backchannelLogoutUri: null,
      access: "everyone",
      scopes: ["openid", "profile", "email", "groups", "offline_access"],
      defaultResource: null,
      consent: true,
      idTokenAlgorithm: "RS256",
      requirePkce: true,
      groupNames: {},
      createdAt: new Date(test.now()).toISOString(),
    });
    assert.ok(isWellFormedSecretToken("service_client_", secret), secret);
    const hashOf = async () =>
      (await test.opened.database.readFirst<{ hash: string }>(sql`
      SELECT secret_hash AS hash FROM oauth_clients WHERE id = ${client.id}`))?.hash;
    assert.equal(await hashOf(), hashSecretToken(secret));
    assert.deepEqual((await send("GET")).body, { clients: [client], nextCursor: null });

    const access = { organizationIds: [(await test.signUp("Ada")).organizationId], minRole: "ADMIN" };
    const change = { name: "Charts", access, enabled: false, groupNames: { operator: "staff" } };
    const changed = await send(`PATCH /${client.id}`, change);
    assert.deepEqual(changed.body.client, { ...client, ...change });
    assert.deepEqual((await send(`PATCH /${client.id}`, change)).body.client, changed.body.client);
    assert.deepEqual((await send(`GET /${client.id}`)).body.client, changed.body.client);

    const rotated = await send(`POST /${client.id}/rotate-secret`);
    assert.notEqual(rotated.body.secret, secret);
    assert.equal(await hashOf(), hashSecretToken(rotated.body.secret));
    assert.equal((await send(`DELETE /${client.id}`)).status, 204);
    for (const route of ["GET", "DELETE"]) assert.equal((await send(`${route} /${client.id}`)).status, 404);

    const entries = await test.opened.database.read<{ action: string; details: string }>(sql`
    SELECT action, actor_id AS actor, target_name AS target, organization_id AS organization, details FROM audit_events
    WHERE action LIKE 'client.%' ORDER BY id`);
    const entry = { actor: userId, organization: null };
    assert.deepEqual(entries.map(({ details, ...one }) => ({ ...one, ...JSON.parse(details) })), [
      { ...entry, action: "client.created", target: "Grafana" },
      { ...entry, action: "client.changed", target: "Charts", change: "name, access, groupNames, enabled" },
      { ...entry, action: "client.secret_rotated", target: "Charts" },
      { ...entry, action: "client.deleted", target: "Charts" },
    ]);
  },
  settings,
);

testApp("keeps changes that are made at the same time, or rejects them", async (test) => {
  const { send } = await operatorOf(test);
  const { body: { client: before } } = await send("POST", grafana);
  const changes = [{ name: "Charts" }, { consent: false }, { enabled: false }, {
    groupNames: { operator: "staff" },
  }];
  const sent = await Promise.all(changes.map((change) => send(`PATCH /${before.id}`, change)));
  const kept = changes.filter((_, n) => sent[n]?.status === 200);
  assert.ok(
    kept.length > 0 && sent.every(({ status }) => status === 200 || status === 503),
    JSON.stringify(sent),
  );
  const { body } = await send(`GET /${before.id}`);
  assert.deepEqual(body.client, Object.assign({}, before, ...kept));
}, settings);

testApp("gives a public application no secret", async (test) => {
  const { send } = await operatorOf(test);
  const { body } = await send("POST", {
    ...grafana,
    type: "public",
    redirectUris: ["com.example.app:/callback"],
  });
  assert.equal(body.secret, null);
  await assertSent(send, [
    [`POST /${body.client.id}/rotate-secret`, undefined, "404 not_found"],
    [`PATCH /${body.client.id}`, { requirePkce: false }, "422 validation_failed requirePkce"],
    [`PATCH /${body.client.id}`, { type: "confidential" }, "422 validation_failed type"],
  ]);
}, settings);

testApp("rejects addresses and settings that an application can't have", async (test) => {
  const { send } = await operatorOf(test);
  const addresses = [
    ...[
      "http://grafana.example.com/",
      "https://a.example/#b",
      "https://u:p@a.example/",
      "com.example.app:/",
      "//a.example",
    ],
    ...[
      "javascript:alert(1)",
      "https://a.example/ b",
      "https://a.example\\b",
      "http://127.0.0.1.example.com/",
    ],
  ];
  const rejected = "422 validation_failed";
  await assertSent(send, [
    ...addresses.flatMap((uri) => [
      ["POST", { ...grafana, redirectUris: [uri] }, `${rejected} redirectUris[0]`] as const,
      [
        "POST",
        { ...grafana, postLogoutRedirectUris: [uri] },
        `${rejected} postLogoutRedirectUris[0]`,
      ] as const,
      ["POST", { ...grafana, backchannelLogoutUri: uri }, `${rejected} backchannelLogoutUri`] as const,
    ]),
    ["POST", { ...grafana, redirectUris: [] }, `${rejected} redirectUris`],
    ["POST", { ...grafana, redirectUris: Array(21).fill(redirectUris[0]) }, `${rejected} redirectUris`],
    ["POST", { ...grafana, grants: ["refresh_token"] }, `${rejected} grants`],
    ["POST", { ...grafana, grants: ["client_credentials"] }, `${rejected} grants[0]`],
    ["POST", { ...grafana, scopes: ["admin"] }, `${rejected} scopes[0]`],
    [
      "POST",
      { ...grafana, access: { organizationIds: [newId("org")], minRole: "MEMBER" } },
      `${rejected} access.organizationIds`,
    ],
    ["POST", { ...grafana, defaultResource: newId("res") }, `${rejected} defaultResource`],
    ["POST", { ...grafana, secret: "mine" }, `${rejected} secret`],
  ]);
  assert.deepEqual((await send("GET")).body.clients, []);
}, settings);

testApp("asks for SECRETS_KEY before the first application", async (test) => {
  const { send } = await operatorOf(test);
  await assertSent(send, [["POST", grafana, "409 secrets_key_missing"]]);
});

testApp("has at most 200 applications", async (test) => {
  const { send } = await operatorOf(test);
  await run(
    test,
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
    INSERT INTO oauth_clients (id, name, type, grants, redirect_uris, post_logout_redirect_uris, scopes, created_at)
    SELECT 'cli_' || printf('%032d', i), 'A', 'public', '[]', '[]', '[]', '[]', 0 FROM n`,
  );
  await assertSent(send, [["POST", grafana, "201"], ["POST", grafana, "409 limit_reached"]]);
}, settings);

testApp(
  "ends unused codes when an application changes, lost scopes with their access, and all with it",
  async (test) => {
    const { send } = await operatorOf(test);
    const { userId } = await test.signUp("Ada");
    const { id } = (await send("POST", grafana)).body.client;
    const grants = ["openid email", "openid groups"];
    for (const scopes of grants) {
      const values = [newId("grt"), id, userId, scopes];
      await run(
        test,
        `INSERT INTO oauth_grants (id, client_id, user_id, session_id, scopes, auth_time, created_at, refresh_secret)
      VALUES (?, ?, ?, 's', ?, 0, 0, 'x')`,
        ...values,
      );
      await run(
        test,
        `INSERT INTO oauth_codes (code_hash, client_id, user_id, session_id, scopes, redirect_uri, auth_time, created_at, expires_at,
      used_at) VALUES (?, ?, ?, 's', ?, 'https://a.example', 0, 0, 0, ?)`,
        ...[scopes, id, userId, scopes, scopes === "openid email" ? 1 : null],
      );
    }
    const left = async () =>
      (await test.opened.database.read<{ scopes: string }>(sql`
      SELECT scopes FROM oauth_grants UNION ALL SELECT scopes FROM oauth_codes ORDER BY 1`)).map((
        { scopes },
      ) => scopes);
    assert.deepEqual(await left(), ["openid email", "openid email", "openid groups", "openid groups"]);
    await send(`PATCH /${id}`, { redirectUris: ["https://b.example/"] });
    assert.deepEqual(await left(), ["openid email", "openid email", "openid groups"]);
    await send(`PATCH /${id}`, { scopes: ["openid", "email"] });
    assert.deepEqual(await left(), ["openid email", "openid email"]);
    await send(`DELETE /${id}`);
    assert.deepEqual(await left(), []);
  },
  settings,
);
