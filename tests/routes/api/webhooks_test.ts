// Webhook endpoints over the API: for members, for operators in an organization, and operators' own.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { sql } from "../../../db/engine/database.ts";
import { recentAuthenticationMs } from "../../../domain/limits.ts";
import {
  webhookNamesPerMinuteMax,
  webhooksOfOperatorsMax,
  webhooksOfOrganizationMax,
} from "../../../domain/webhooks/webhook_limits.ts";
import { mustBe } from "../../../routes/schemas/messages.ts";
import { assertError, type TestApp, testApp } from "../../support/app/app.ts";
import { listAudit } from "../../support/app/audit.ts";
import { senderOf } from "../../support/app/sender.ts";
import { onEveryDatabase } from "../../support/meter/usage.ts";
import { asOperator } from "../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { joinedPerson, reauthenticate, verifiedPerson } from "../../support/people/people.ts";
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
  const untilOf = async (json?: object) => {
    const { status } = await send(`POST /${id}/rotate-secret`, json);
    const [row] = await rowsOf(test);
    const until = row?.["old_secret_until"] ?? null;
    return status === 201 ? until === null ? row?.["old_secret"] : Number(until) - test.now() : status;
  };
  assert.equal(await untilOf(), dayMs);
  assert.equal(await untilOf({ expireOldAt: later(7 * dayMs) }), 7 * dayMs);
  assert.equal(await untilOf({ expireOldAt: "now" }), null);
  for (const expireOldAt of [later(0), later(7 * dayMs + 1), "soon", 7]) {
    assert.equal(await untilOf({ expireOldAt }), 422, String(expireOldAt));
  }
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
  for (const [json, field] of badInput) {
    const { status, body } = await send("POST ", json);
    const [detail] = body.error.details ?? [];
    assert.deepEqual([status, body.error.code, detail?.path], [422, "validation_failed", field], field);
  }
  for (const json of [{ enabled: "yes" }, { url: null }, { events: ["nothing"] }, { status: "enabled" }]) {
    assert.equal((await send(`PATCH /${id}`, json)).body.error.code, "validation_failed");
  }
  const { error } = (await send("POST ", { url, events: ["nothing"] })).body;
  assert.match(error.details[0].message, /, not “nothing”\.$/);
  assert.deepEqual((await send(`PATCH /${id}`, { enabled: 1 })).body.error.details, [
    { path: "enabled", message: mustBe("boolean") },
  ]);
  for (const blocked of ["http://1.1.1.1/", "https://127.0.0.1/", "https://[::1]/", "https://169.254.1.1/"]) {
    for (const route of ["POST ", `PATCH /${id}`]) {
      const { status, body } = await send(route, {
        url: blocked,
        ...(route === "POST " && { events: ["*"] }),
      });
      assert.deepEqual(
        [status, body.error.code, body.error.details[0].path],
        [422, "webhook_address_blocked", "url"],
        blocked,
      );
      const isHttp = blocked.startsWith("http:");
      assert.match(body.error.details[0].message, isHttp ? /“https:\/\/”\.$/ : /found and has only public/);
    }
  }
  assert.equal((await rowsOf(test)).length, 1);
  assert.equal((await send("GET ?cursor=x")).body.error.code, "validation_failed");
});

testApp("organizations have 10 endpoints and operators 20, even if created concurrently", async (test) => {
  const send = asMember(test, (await verifiedPerson(test)).cookie);
  const { fullToken } = await newOperatorToken(test);
  const operate = asOperator(test, fullToken);
  const json = { url, events: ["*"] };
  for (
    const [create, max] of [
      [() => send("POST ", json), webhooksOfOrganizationMax],
      [() => operate("POST /webhooks", json), webhooksOfOperatorsMax],
    ] as const
  ) {
    const responses = await Promise.all(Array.from({ length: max + 3 }, create));
    const codes = responses.map(({ status, body }) => body.error?.code ?? status);
    assert.deepEqual(codes.filter((code) => code === 201).length, max);
    assert.equal(codes.filter((code) => code === "webhook_limit_reached").length, 3);
    const { error } = (await create()).body;
    assert.match(error.message, new RegExp(`at most ${max} webhook endpoints\\. Delete one first\\.$`));
  }
  const named = { url: "https://localhost/", events: ["*"] };
  assert.equal((await send("POST ", named)).body.error.code, "webhook_limit_reached");
  const [first] = (await send("GET ?limit=1")).body.webhooks;
  assert.equal((await send(`DELETE /${first.id}`)).status, 204);
  for (let names = 0; names <= webhookNamesPerMinuteMax; names++) {
    const { error } = (await send("POST ", named)).body;
    const isLast = names === webhookNamesPerMinuteMax;
    assert.equal(error.code, isLast ? "rate_limited" : "webhook_address_blocked");
  }
  assert.equal((await send("POST ", json)).status, 201);
});

testApp("members change endpoints after a recent authentication, and read them without", async (test) => {
  const ada = await verifiedPerson(test);
  const send = asMember(test, ada.cookie);
  const { webhook: { id } } = (await send("POST ", { url, events: ["*"] })).body;
  test.advance(recentAuthenticationMs + 1);
  const changes = [
    ["POST ", { url, events: ["*"] }],
    [`PATCH /${id}`, { description: "B" }],
    [`POST /${id}/rotate-secret`, {}],
    [`DELETE /${id}`],
  ] as const;
  for (const [route, json] of changes) {
    assert.equal((await send(route, json)).body.error.code, "proof_required", route);
  }
  assert.equal((await send(`GET /${id}`)).status, 200);
  await reauthenticate(test, ada.cookie);
  for (const [route, json] of changes) assert.ok((await send(route, json)).status < 300, route);
});

testApp("a member sees no endpoints, and no one sees those of another organization", async (test) => {
  const ada = await verifiedPerson(test);
  const { webhook: { id } } = (await asMember(test, ada.cookie)("POST ", { url, events: ["*"] })).body;
  const bob = asMember(test, (await joinedPerson(test, ada, "MEMBER")).cookie);
  const eve = asMember(test, (await verifiedPerson(test)).cookie);
  for (
    const [route, json] of [["GET", undefined], ["PATCH", { enabled: false }], ["DELETE", undefined]] as const
  ) {
    assert.equal((await bob(`${route} /${id}`, json)).status, 403, route);
    assert.equal((await eve(`${route} /${id}`, json)).status, 404, route);
  }
  assert.equal((await bob("GET ")).status, 403);
  assert.deepEqual((await eve("GET ")).body.webhooks, []);

  const { fullToken } = await newOperatorToken(test);
  const operate = asOperator(test, fullToken);
  const own = (await operate("POST /webhooks", { url, events: ["statement.closed"] })).body.webhook;
  assert.equal((await asMember(test, ada.cookie)(`GET /${own.id}`)).status, 404);
  // A suspended organization can read, and change nothing.
  await run(test, "UPDATE organizations SET suspended_at = 0 WHERE id = ?", ada.organizationId);
  assert.equal((await asMember(test, ada.cookie)(`GET /${id}`)).status, 200);
  const denied = await asMember(test, ada.cookie)(`PATCH /${id}`, { enabled: false });
  assert.equal(denied.body.error.code, "organization_suspended");
});

onEveryDatabase("operators manage their own endpoints and those of any organization", async (test) => {
  const ada = await verifiedPerson(test);
  const send = asMember(test, ada.cookie);
  const { id: tokenId, fullToken } = await newOperatorToken(test, ["webhooks:read", "webhooks:write"]);
  const operate = asOperator(test, fullToken);
  const own = await operate("POST /webhooks", { url, events: ["statement.closed"], description: "Invoices" });
  assert.deepEqual(own.body.webhook.createdBy, { id: tokenId, name: "Invoices" });
  const theirs = await operate(`POST /webhooks?organizationId=${ada.organizationId}`, { url, events: ["*"] });
  assert.equal(theirs.body.webhook.createdBy, null);
  const idsIn = async (query: string) =>
    (await operate(`GET /webhooks${query}`)).body.webhooks.map(({ id }: { id: string }) => id);
  assert.deepEqual(await idsIn(""), [own.body.webhook.id]);
  assert.deepEqual(await idsIn(`?organizationId=${ada.organizationId}`), [theirs.body.webhook.id]);
  assert.equal((await operate("GET /webhooks?organizationId=external:none")).status, 404);
  const restricted = await operate(`PATCH /webhooks/${theirs.body.webhook.id}`, { events: ["statement.*"] });
  assert.equal(restricted.body.error.details[0].path, "events[0]");
  assert.equal((await operate(`PATCH /webhooks/${theirs.body.webhook.id}`, { enabled: false })).status, 200);
  const rotated = await operate(`POST /webhooks/${own.body.webhook.id}/rotate-secret`, {
    expireOldAt: "now",
  });
  assert.equal(rotated.status, 201);
  const [seen] = (await send("GET ")).body.webhooks;
  assert.deepEqual([seen.id, seen.status], [theirs.body.webhook.id, "disabled"]);
  const { events } = await listAudit(test, ada.cookie, "?action=webhooks");
  assert.deepEqual(events.map(({ action, actor }) => [action, actor.type, actor.name ?? null]), [
    ["webhook.disabled", "operator", null],
    ["webhook.created", "operator", null],
  ]);

  const reader = asOperator(test, (await newOperatorToken(test, ["webhooks:read"])).fullToken);
  assert.equal((await reader(`GET /webhooks/${own.body.webhook.id}`)).status, 200);
  assert.equal((await reader(`DELETE /webhooks/${own.body.webhook.id}`)).body.error.code, "scope_missing");
});

testApp("deleting an organization deletes its endpoints and their secrets", async (test) => {
  const ada = await verifiedPerson(test);
  const { webhook: { id } } = (await asMember(test, ada.cookie)("POST ", { url, events: ["*"] })).body;
  const { fullToken } = await newOperatorToken(test);
  const operate = asOperator(test, fullToken);
  await operate("POST /webhooks", { url, events: ["*"] });
  assert.equal((await operate(`DELETE /organizations/${ada.organizationId}`)).status, 204);
  const [theirs, own] = await rowsOf(test);
  assert.deepEqual([theirs?.["deleted_at"], theirs?.["secret"]], [test.now(), ""]);
  assert.equal(own?.["deleted_at"], null);
  await assertError(await test.send(`/api/operator/webhooks/${id}`, { apiKey: fullToken }), 404, "not_found");
});
