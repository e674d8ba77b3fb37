// Webhook endpoints over the API: for members, for operators in an organization, and operators' own.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { sql } from "../../../db/engine/database.ts";
import { recentAuthenticationMs } from "../../../domain/limits.ts";
import {
  webhookNamesPerMinuteMax,
  webhooksOfOperatorsMax,
  webhooksOfOrganizationMax,
} from "../../../domain/outbox/webhook_limits.ts";
import { mustBe } from "../../../routes/schemas/messages.ts";
import { type TestApp, testApp } from "../../support/app/app.ts";
import { listAudit } from "../../support/app/audit.ts";
import { onEveryDatabase } from "../../support/meter/usage.ts";
import { asOperator, assertSent, operatorOf, senderOf } from "../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { reauthenticate, verifiedPerson } from "../../support/people/people.ts";
import { run } from "../../support/people/scene.ts";

const path = "/api/portal/webhooks";
// A literal address needs no name server.
const url = "https://1.1.1.1/hooks/canary-9f2c?token=canary-77";
const dayMs = 86_400_000;

function asMember(test: TestApp, cookie: string) {
  return senderOf(test, { path, cookie });
}

function rowsOf(test: TestApp) {
  return test.opened.database.read<Record<string, string | number | null>>(sql`SELECT * FROM webhooks`);
}

onEveryDatabase("creates, changes, disables, enables and deletes an endpoint", async (test) => {
  const ada = await verifiedPerson(test);
  const send = asMember(test, ada.cookie);
  const created = await send("POST ", {
    url,
    events: ["limit.*", "api_key.created", "limit.*"],
    description: " Billing ",
  });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const { webhook, secret } = created.body;
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.match(webhook.id, /^whk_[0-9a-f]{32}$/);
  const expected = {
    id: webhook.id,
    url,
    events: ["limit.*", "api_key.created"],
    description: "Billing",
    status: "enabled",
    disabledReason: null,
    failingSince: null,
    lastDeliveredAt: null,
    oldSecretUntil: null,
    createdAt: new Date(test.now()).toISOString(),
    createdBy: { id: ada.userId, name: "Ada Lovelace" },
  };
  assert.deepEqual(webhook, expected);
  assert.deepEqual((await send("GET ")).body, { webhooks: [expected], nextCursor: null });
  assert.deepEqual((await send(`GET /${webhook.id}`)).body, { webhook: expected });

  const failing = sql`UPDATE webhooks SET failing_since = ${test.now()}, failures = 3`;
  await test.opened.database.write([failing]);
  const changes = { url: "https://1.0.0.1/", events: ["*"], description: "", enabled: false };
  const changed = await send(`PATCH /${webhook.id}`, changes);
  const failingSince = expected.createdAt;
  const disabled = {
    ...expected,
    url: "https://1.0.0.1/",
    events: ["*"],
    description: "",
    status: "disabled",
    disabledReason: "manual",
    failingSince,
  };
  assert.deepEqual(changed.body.webhook, disabled);
  assert.deepEqual((await send(`PATCH /${webhook.id}`, { enabled: false, url: disabled.url })).body, {
    webhook: disabled,
  });
  const enabled = await send(`PATCH /${webhook.id}`, { enabled: true });
  assert.deepEqual(enabled.body.webhook, {
    ...disabled,
    status: "enabled",
    disabledReason: null,
    failingSince: null,
  });
  assert.equal((await rowsOf(test))[0]?.["failures"], 0);

  assert.equal((await send(`DELETE /${webhook.id}`)).status, 204);
  for (const route of ["GET", "DELETE", "PATCH"]) {
    const gone = await send(`${route} /${webhook.id}`, route === "PATCH" ? { enabled: true } : undefined);
    assert.equal(gone.status, 404, route);
  }
  const { events } = await listAudit(test, ada.cookie, "?action=webhooks");
  assert.deepEqual(
    events.map(({ action, target, details }) => [action, target?.name, details]),
    [
      ["webhook.deleted", "1.0.0.1", {}],
      ["webhook.enabled", "1.0.0.1", {}],
      ["webhook.disabled", "1.0.0.1", { reason: "manual" }],
      ["webhook.changed", "1.0.0.1", { change: "URL, events: *, description" }],
      ["webhook.created", "Billing", {}],
    ],
  );
});

testApp("the secret and the URL's path are shown once, and never logged or audited", async (test) => {
  const ada = await verifiedPerson(test);
  const send = asMember(test, ada.cookie);
  const { webhook, secret } = (await send("POST ", { url, events: ["*"] })).body;
  const rotated = (await send(`POST /${webhook.id}/rotate-secret`)).body;
  assert.notEqual(rotated.secret, secret);
  const [row] = await rowsOf(test);
  const open = (column: string) => test.services.secrets.open(webhook.id, String(row?.[column]));
  assert.deepEqual([open("secret"), open("old_secret")], [rotated.secret, secret]);
  const bodies = [
    rotated.webhook,
    (await send("GET ")).body,
    (await send(`PATCH /${webhook.id}`, { description: "Billing" })).body,
  ];
  const elsewhere = JSON.stringify([bodies, row]) + test.logged();
  for (const text of [secret, rotated.secret]) assert.ok(!elsewhere.includes(text.slice(6)), text);
  const entries = await test.opened.database.read(sql`SELECT * FROM audit_events`);
  assert.ok(!(JSON.stringify(entries) + test.logged()).includes("canary"));
}, { SECRETS_KEY: randomBytes(32).toString("base64") });

testApp("the old secret signs for a day, until a time of up to 7 days, or no longer", async (test) => {
  const send = asMember(test, (await verifiedPerson(test)).cookie);
  const { webhook: { id } } = (await send("POST ", { url, events: ["*"] })).body;
  const later = (ms: number) => new Date(test.now() + ms).toISOString();
  const rotate = `POST /${id}/rotate-secret`;
  for (
    const [json, signsMs] of [
      [undefined, dayMs],
      [{ expireOldAt: later(7 * dayMs) }, 7 * dayMs],
      [{ expireOldAt: "now" }, null],
    ] as const
  ) {
    assert.equal((await send(rotate, json)).status, 201);
    const [row] = await rowsOf(test);
    assert.equal(row?.["old_secret_until"], signsMs === null ? null : test.now() + signsMs);
    if (signsMs === null) assert.equal(row?.["old_secret"], null);
  }
  await assertSent(
    send,
    [later(0), later(7 * dayMs + 1), "soon", 7].map((expireOldAt) =>
      [rotate, { expireOldAt }, "422 validation_failed expireOldAt"] as const
    ),
  );
});

const badInput: readonly (readonly [json: object, field: string])[] = [
  [{ events: ["*"] }, "url"],
  [{ url: 7, events: ["*"] }, "url"],
  [{ url: "nowhere", events: ["*"] }, "url"],
  [{ url: "ftp://1.1.1.1/", events: ["*"] }, "url"],
  [{ url: "https://user:password@1.1.1.1/", events: ["*"] }, "url"],
  [{ url: "https://1.1.1.1/#fragment", events: ["*"] }, "url"],
  [{ url: `https://1.1.1.1/${"x".repeat(2000)}`, events: ["*"] }, "url"],
  [{ url }, "events"],
  [{ url, events: "limit.reached" }, "events"],
  [{ url, events: [] }, "events"],
  [{ url, events: Array.from({ length: 33 }, () => "*") }, "events"],
  [{ url, events: ["*", "limit"] }, "events[1]"],
  [{ url, events: ["limits.*"] }, "events[0]"],
  [{ url, events: ["constructor"] }, "events[0]"],
  [{ url, events: ["limit.*", "statement.closed"] }, "events[1]"],
  [{ url, events: ["statement.*"] }, "events[0]"],
  [{ url, events: ["organization.deleted"] }, "events[0]"],
  [{ url, events: ["*"], description: "x".repeat(201) }, "description"],
  [{ url, events: ["*"], description: "\u202egnilliB" }, "description"],
  [{ url, events: ["*"], secret: "whsec_mine" }, "secret"],
  [{ url, events: ["*"], enabled: false }, "enabled"],
];

testApp("rejects each invalid field by name, and addresses that aren't public", async (test) => {
  const send = asMember(test, (await verifiedPerson(test)).cookie);
  const { webhook: { id } } = (await send("POST ", { url, events: ["*"] })).body;
  await assertSent(send, [
    ...badInput.map(([json, field]) => ["POST ", json, `422 validation_failed ${field}`] as const),
    [`PATCH /${id}`, { enabled: "yes" }, "422 validation_failed enabled"],
    [`PATCH /${id}`, { url: null }, "422 validation_failed url"],
    [`PATCH /${id}`, { events: ["nothing"] }, "422 validation_failed events[0]"],
    [`PATCH /${id}`, { status: "enabled" }, "422 validation_failed status"],
    ["GET ?cursor=x", undefined, "422 validation_failed cursor"],
  ]);
  const messageOf = async (route: string, json: object) =>
    (await send(route, json)).body.error.details[0].message;
  assert.match(await messageOf("POST ", { url, events: ["nothing"] }), /, not “nothing”\.$/);
  assert.equal(await messageOf(`PATCH /${id}`, { enabled: 1 }), mustBe("boolean"));
  for (const blocked of ["http://1.1.1.1/", "https://127.0.0.1/", "https://[::1]/", "https://169.254.1.1/"]) {
    for (const [route, json] of [["POST ", { events: ["*"] }], [`PATCH /${id}`, {}]] as const) {
      await assertSent(send, [[route, { ...json, url: blocked }, "422 webhook_address_blocked url"]]);
      const reason = blocked.startsWith("http:") ? /“https:\/\/”\.$/ : /found and has only public/;
      assert.match(await messageOf(route, { ...json, url: blocked }), reason);
    }
  }
  assert.equal((await rowsOf(test)).length, 1);
});

testApp("organizations have 10 endpoints and operators 20, even if created concurrently", async (test) => {
  const send = asMember(test, (await verifiedPerson(test)).cookie);
  const operate = await operatorOf(test);
  const json = { url, events: ["*"] };
  for (
    const [create, max] of [
      [() => send("POST ", json), webhooksOfOrganizationMax],
      [() => operate("POST /webhooks", json), webhooksOfOperatorsMax],
    ] as const
  ) {
    const responses = await Promise.all(Array.from({ length: max + 3 }, create));
    const codes = responses.map(({ status, body }) => body.error?.code ?? status);
    assert.equal(codes.filter((code) => code === 201).length, max);
    assert.equal(codes.filter((code) => code === "webhook_limit_reached").length, 3);
    const { error } = (await create()).body;
    assert.match(error.message, new RegExp(`at most ${max} webhook endpoints\\. Delete one first\\.$`));
  }
  const named = { url: "https://localhost/", events: ["*"] };
  const [first] = (await send("GET ?limit=1")).body.webhooks;
  const blocked = ["POST ", named, "422 webhook_address_blocked url"] as const;
  await assertSent(send, [
    ["POST ", named, "409 webhook_limit_reached"],
    [`DELETE /${first.id}`, undefined, "204"],
    ...Array.from({ length: webhookNamesPerMinuteMax }, () => blocked),
    ["POST ", named, "429 rate_limited"],
    ["POST ", json, "201"],
  ]);
});

testApp("members change endpoints after a recent authentication, and read them without", async (test) => {
  const ada = await verifiedPerson(test);
  const send = asMember(test, ada.cookie);
  const { webhook: { id } } = (await send("POST ", { url, events: ["*"] })).body;
  test.advance(recentAuthenticationMs + 1);
  const changes = [
    ["POST ", { url, events: ["*"] }, "201"],
    [`PATCH /${id}`, { description: "B" }, "200"],
    [`POST /${id}/rotate-secret`, {}, "201"],
    [`DELETE /${id}`, undefined, "204"],
  ] as const;
  await assertSent(send, changes.map(([route, json]) => [route, json, "403 proof_required"] as const));
  await assertSent(send, [[`GET /${id}`, undefined, "200"]]);
  await reauthenticate(test, ada.cookie);
  await assertSent(send, changes);
});

testApp("endpoints are one organization's or operators', and readable while suspended", async (test) => {
  const ada = await verifiedPerson(test);
  const send = asMember(test, ada.cookie);
  const { webhook: { id } } = (await send("POST ", { url, events: ["*"] })).body;
  const eve = asMember(test, (await verifiedPerson(test)).cookie);
  assert.deepEqual((await eve("GET ")).body.webhooks, []);
  const operate = await operatorOf(test);
  const own = (await operate("POST /webhooks", { url, events: ["statement.closed"] })).body.webhook;
  await run(test, "UPDATE organizations SET suspended_at = 0 WHERE id = ?", ada.organizationId);
  await assertSent(send, [
    [`GET /${own.id}`, undefined, "404 not_found"],
    [`GET /${id}`, undefined, "200"],
    [`PATCH /${id}`, { enabled: false }, "403 organization_suspended"],
  ]);
});

onEveryDatabase("operators manage their own endpoints and those of any organization", async (test) => {
  const ada = await verifiedPerson(test);
  const { id: tokenId, fullToken } = await newOperatorToken(test, ["webhooks:read", "webhooks:write"]);
  const operate = asOperator(test, fullToken);
  const create = { url, events: ["statement.closed"], description: "Invoices" };
  const { webhook: own } = (await operate("POST /webhooks", create)).body;
  assert.deepEqual(own.createdBy, { id: tokenId, name: "Invoices" });
  const ofAda = `?organizationId=${ada.organizationId}`;
  const { webhook: theirs } = (await operate(`POST /webhooks${ofAda}`, { url, events: ["*"] })).body;
  assert.equal(theirs.createdBy, null);
  const idsIn = async (query: string) =>
    (await operate(`GET /webhooks${query}`)).body.webhooks.map(({ id }: { id: string }) => id);
  assert.deepEqual([await idsIn(""), await idsIn(ofAda)], [[own.id], [theirs.id]]);
  await assertSent(operate, [
    ["GET /webhooks?organizationId=external:none", undefined, "404 not_found"],
    [`PATCH /webhooks/${theirs.id}`, { events: ["statement.*"] }, "422 validation_failed events[0]"],
    [`PATCH /webhooks/${theirs.id}`, { enabled: false }, "200"],
    [`POST /webhooks/${own.id}/rotate-secret`, { expireOldAt: "now" }, "201"],
  ]);
  const [seen] = (await asMember(test, ada.cookie)("GET ")).body.webhooks;
  assert.deepEqual([seen.id, seen.status], [theirs.id, "disabled"]);
  const { events } = await listAudit(test, ada.cookie, "?action=webhooks");
  assert.deepEqual(events.map(({ action, actor }) => [action, actor.type, actor.name ?? null]), [
    ["webhook.disabled", "operator", null],
    ["webhook.created", "operator", null],
  ]);
});

testApp("deleting an organization deletes its endpoints and their secrets", async (test) => {
  const ada = await verifiedPerson(test);
  const { webhook: { id } } = (await asMember(test, ada.cookie)("POST ", { url, events: ["*"] })).body;
  const operate = await operatorOf(test);
  await operate("POST /webhooks", { url, events: ["*"] });
  await assertSent(operate, [[`DELETE /organizations/${ada.organizationId}`, undefined, "204"]]);
  const [theirs, own] = await rowsOf(test);
  assert.deepEqual([theirs?.["deleted_at"], theirs?.["secret"]], [test.now(), ""]);
  assert.equal(own?.["deleted_at"], null);
  await assertSent(operate, [[`GET /webhooks/${id}`, undefined, "404 not_found"]]);
});
