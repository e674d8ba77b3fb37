// Organizations over the operators' API: list, search, create, change, suspend, delete, on both kinds of database.
import assert from "node:assert/strict";
import { metadataKeysMax } from "../../../../domain/limits.ts";
import { type TestApp, testApp } from "../../../support/app/app.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { lastMail, me } from "../../../support/people/people.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { newOrganization, newPerson, run } from "../../../support/people/scene.ts";

async function operatorOf(test: TestApp) {
  const { fullToken } = await newOperatorToken(test, ["organizations:read", "organizations:write"]);
  return asOperator(test, fullToken);
}

async function actionsOf(test: TestApp, organizationId: string | null): Promise<string[]> {
  const rows = await test.opened.database.read<{ action: string }>({
    sql: "SELECT action FROM audit_events WHERE organization_id IS ? AND actor_type = 'operator' ORDER BY id",
    args: [organizationId],
  });
  return rows.map(({ action }) => action);
}

onEveryDatabase("creates, reads and changes an organization, by id and by external id", async (test) => {
  const send = await operatorOf(test);
  const createdAt = new Date(test.now()).toISOString();
  const metadata = { region: "eu", plan: "gold" };
  const created = await send("POST /organizations", { name: " Engines ", externalId: "cus/1 %?", metadata });
  assert.equal(created.status, 201);
  const { organization } = created.body;
  const { id } = organization;
  assert.deepEqual(organization, {
    id,
    name: "Engines",
    externalId: "cus/1 %?",
    status: "active",
    suspendedAt: null,
    planId: organization.planId,
    overrides: {
      apiKeysMax: null,
      membersMax: null,
      requestsPerSecond: null,
      usageSeriesMax: null,
      limits: [],
    },
    timezone: "UTC",
    metadata,
    memberCount: 0,
    activeApiKeyCount: 0,
    createdAt,
    lastUsedAt: null,
    lastUsageAt: null,
  });
  const byExternalId = `/organizations/external:${encodeURIComponent("cus/1 %?")}`;
  assert.deepEqual((await send(`GET /organizations/${id}`)).body, { organization });
  assert.deepEqual((await send(`GET ${byExternalId}`)).body, { organization });

  const change = { name: "Mills", metadata: { plan: null, tier: "1" }, status: "suspended" };
  const changed = await send(`PATCH ${byExternalId}`, change);
  assert.deepEqual(changed.body.organization, {
    ...organization,
    name: "Mills",
    metadata: { region: "eu", tier: "1" },
    status: "suspended",
    suspendedAt: createdAt,
  });
  test.advance(1000);
  assert.deepEqual((await send(`PATCH /organizations/${id}`, change)).body, changed.body);
  const resumed = await send(`PATCH /organizations/${id}`, { status: "active", externalId: null });
  assert.equal(resumed.body.organization.status, "active");
  assert.equal(resumed.body.organization.externalId, null);
  assert.equal((await send(`GET ${byExternalId}`)).status, 404);
  assert.deepEqual(await actionsOf(test, id), [
    "organization.created",
    "organization.renamed",
    "organization.metadata_changed",
    "organization.suspended",
    "organization.external_id_changed",
    "organization.resumed",
  ]);
});

onEveryDatabase("an external id belongs to one organization at a time, also in a race", async (test) => {
  const send = await operatorOf(test);
  const create = (externalId: string) => send("POST /organizations", { name: "Engines", externalId });
  const both = await Promise.all([create("c-1"), create("c-1")]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 409]);
  assert.equal(both.find(({ status }) => status === 409)?.body.error.code, "external_id_taken");
  const second = (await create("c-2")).body.organization;
  const taken = await send(`PATCH /organizations/${second.id}`, { name: "Mills", externalId: "c-1" });
  assert.equal(taken.body.error.code, "external_id_taken");
  assert.deepEqual((await send("GET /organizations/external:c-2")).body.organization, second);
  assert.deepEqual(await actionsOf(test, second.id), ["organization.created"]);
  assert.equal((await send("DELETE /organizations/external:c-1")).status, 204);
  const moved = await send("PATCH /organizations/external:c-2", { externalId: "c-1" });
  assert.equal(moved.body.organization.id, second.id);
});

onEveryDatabase("lists and searches organizations, sorted by age and by name", async (test) => {
  const send = await operatorOf(test);
  const names = ["Beta_1", "alpha", "Alpha", "gamma 100%", "beta"];
  for (const [index, name] of names.entries()) {
    await send("POST /organizations", { name, ...(index % 2 === 0 ? { externalId: `ext-${index}` } : {}) });
  }
  const list = async (query: string) => {
    const found: { id: string; name: string }[] = [];
    let cursor = "";
    do {
      const { status, body } = await send(`GET /organizations?limit=2&${query}${cursor}`);
      assert.equal(status, 200);
      found.push(...body.organizations);
      assert.ok(found.length <= names.length, "the list repeats itself");
      cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`;
    } while (cursor !== "");
    return found;
  };
  const namesOf = async (query: string) => (await list(query)).map(({ name }) => name);
  assert.deepEqual(await namesOf("sort=createdAt"), names.toReversed());
  assert.deepEqual(await namesOf("sort=name"), ["alpha", "Alpha", "beta", "Beta_1", "gamma 100%"]);
  assert.deepEqual(await namesOf("search=ALPH"), ["Alpha", "alpha"]);
  assert.deepEqual(await namesOf("search=_"), ["Beta_1"]);
  assert.deepEqual(await namesOf("search=%25"), ["gamma 100%"]);
  assert.deepEqual(await namesOf("search=ext-2"), ["Alpha"]);
  assert.deepEqual(await namesOf("externalId=ext-4"), ["beta"]);
  const [first] = await list("sort=name");
  assert.deepEqual(await namesOf(`search=${first?.id}`), ["alpha"]);
  await send(`PATCH /organizations/${first?.id}`, { status: "suspended" });
  assert.deepEqual(await namesOf("status=suspended"), ["alpha"]);
  assert.deepEqual(await namesOf("status=active&sort=name"), ["Alpha", "beta", "Beta_1", "gamma 100%"]);

  const page = (await send("GET /organizations?limit=2&sort=name")).body;
  await send(`PATCH /organizations/${page.organizations[1].id}`, { name: "Zeta" });
  await send(`DELETE /organizations/${page.organizations[0].id}`);
  const rest = (await send(`GET /organizations?sort=name&cursor=${page.nextCursor}`)).body.organizations;
  assert.deepEqual(rest.map(({ name }: { name: string }) => name), ["beta", "Beta_1", "gamma 100%", "Zeta"]);
  assert.equal((await send("GET /organizations?cursor=nonsense")).body.error.code, "validation_failed");
});

onEveryDatabase("counts members and active keys, and says when a key was last used", async (test) => {
  const send = await operatorOf(test);
  const id = await newOrganization(test, "Engines");
  await newPerson(test, { organizationId: id, role: "OWNER" });
  await newPerson(test, { organizationId: id, role: "MEMBER" });
  const keys = [["key_1", null, 5000], ["key_2", null, null], ["key_3", 1, 6000]] as const;
  for (const [key, revokedAt, lastUsedAt] of keys) {
    await run(
      test,
      `INSERT INTO api_keys (id, organization_id, key_hash, key_prefix, name, created_at, last_used_at, revoked_at)
       VALUES (?, ?, ?, 'p', 'K', 0, ?, ?)`,
      key,
      id,
      key,
      lastUsedAt,
      revokedAt,
    );
  }
  const { organization } = (await send(`GET /organizations/${id}`)).body;
  assert.equal(organization.memberCount, 2);
  assert.equal(organization.activeApiKeyCount, 2);
  assert.equal(organization.lastUsedAt, "1970-01-01T00:00:06.000Z");
  assert.deepEqual((await send("GET /organizations")).body.organizations, [{ ...organization, usage: null }]);
});

testApp("rejects invalid input without changing anything", async (test) => {
  const send = await operatorOf(test);
  const { id } = (await send("POST /organizations", { name: "Engines" })).body.organization;
  const many = (start: number, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${start + i}`, "x"]));
  const invalid: readonly [string, unknown, string][] = [
    ["POST /organizations", { name: "" }, "name"],
    ["POST /organizations", { name: "N", externalId: "" }, "externalId"],
    ["POST /organizations", { name: "N", externalId: "é" }, "externalId"],
    ["POST /organizations", { name: "N", externalId: " x" }, "externalId"],
    ["POST /organizations", { name: "N", externalId: "x".repeat(256) }, "externalId"],
    ["POST /organizations", { name: "N", metadata: many(0, metadataKeysMax + 1) }, "metadata"],
    ["POST /organizations", { name: "N", metadata: { x: "y".repeat(501) } }, "metadata.x"],
    ["POST /organizations", { name: "N", metadata: { x: 1 } }, "metadata.x"],
    ["POST /organizations", { name: "N", owner: { email: "no address" } }, "email"],
    [`PATCH /organizations/${id}`, { status: "deleted" }, "status"],
    [`PATCH /organizations/${id}`, { planId: "x" }, "planId"],
    ["GET /organizations?sort=size", undefined, "sort"],
    ["GET /organizations?status=", undefined, "status"],
    ["GET /organizations?status=over_limit", undefined, "status"],
    ["GET /organizations?limits=reached", undefined, "limits"],
    ["GET /organizations?plan=gold", undefined, "plan"],
    ["GET /organizations?metric=nope", undefined, "metric"],
    ["GET /organizations?sort=usage&cursor=nonsense", undefined, "cursor"],
    ["GET /organizations.csv?plan=gold", undefined, "plan"],
    ["GET /organizations.csv?metric=nope", undefined, "metric"],
    ["GET /organizations.csv?sort=size", undefined, "sort"],
    ["GET /organizations.csv?limit=3", undefined, "limit"],
  ];
  for (const [route, json, path] of invalid) {
    const { status, body } = await send(route, json);
    assert.equal(status, 422, `${route} ${JSON.stringify(json)}`);
    assert.equal(body.error.details[0].path, path);
  }
  assert.equal(
    (await send(`PATCH /organizations/${id}`, { metadata: many(0, metadataKeysMax) })).status,
    200,
  );
  const full = await send(`PATCH /organizations/${id}`, { name: "No", metadata: { one: "more" } });
  assert.equal(full.body.error.details[0].path, "metadata");
  const replaced = { metadata: { one: "more", key0: null } };
  assert.equal((await send(`PATCH /organizations/${id}`, replaced)).status, 200);
  assert.equal((await send("GET /organizations?limit=100")).body.organizations.length, 1);
  for (const unknown of [`org_${"0".repeat(32)}`, "x", "external:", "external:x"]) {
    assert.equal((await send(`GET /organizations/${unknown}`)).body.error.code, "not_found");
    assert.equal((await send(`PATCH /organizations/${unknown}`, { name: "X" })).status, 404);
    assert.equal((await send(`DELETE /organizations/${unknown}`)).status, 404);
  }
});

onEveryDatabase("too many keys of metadata change nothing, also at the same time", async (test) => {
  const send = await operatorOf(test);
  const full = Object.fromEntries(Array.from({ length: metadataKeysMax - 1 }, (_, n) => [`key${n}`, "x"]));
  const { id } = (await send("POST /organizations", { name: "Before", metadata: full })).body.organization;
  const names = ["A", "B", "C", "D"];
  const results = await Promise.all(
    names.map((name) => send(`PATCH /organizations/${id}`, { name, metadata: { [`own${name}`]: "x" } })),
  );
  const changed = names.filter((_, at) => results[at]?.status === 200);
  assert.equal(changed.length, 1);
  for (const { body } of results.filter(({ status }) => status !== 200)) {
    assert.equal(body.error.details[0].path, "metadata");
  }
  const { organization } = (await send(`GET /organizations/${id}`)).body;
  assert.equal(organization.name, changed[0]);
  assert.equal(Object.keys(organization.metadata).length, metadataKeysMax);
  const renamed = (await actionsOf(test, id)).filter((action) => action === "organization.renamed");
  assert.equal(renamed.length, 1);
});

onEveryDatabase("deleting an organization ends its memberships and frees its external id", async (test) => {
  const send = await operatorOf(test);
  const { organization } = (await send("POST /organizations", { name: "Engines", externalId: "c-1" })).body;
  const ada = await newPerson(test, { organizationId: organization.id, role: "OWNER" });
  assert.equal((await send("DELETE /organizations/external:c-1")).status, 204);
  assert.deepEqual((await me(test, ada.cookie)).memberships, []);
  assert.equal((await send(`GET /organizations/${organization.id}`)).status, 404);
  assert.equal((await send(`DELETE /organizations/${organization.id}`)).status, 404);
  assert.deepEqual((await send("GET /organizations")).body.organizations, []);
  const again = await send("POST /organizations", { name: "Engines", externalId: "c-1" });
  assert.equal(again.status, 201);
});

testApp("invites the owner of a new organization in the same transaction", async (test) => {
  const send = await operatorOf(test);
  const owner = { email: "Ada@Example.com", name: "Ada" };
  const { body } = await send("POST /organizations", { name: "Engines", externalId: "c-1", owner });
  const mail = await lastMail(test, "ada@example.com");
  assert.equal(mail.subject, "You are invited to Engines");
  assert.match(mail.text, /^Hello Ada,\n\nYou are invited to join “Engines” at .* as an owner\./);
  const { invitations } = (await send(`GET /organizations/${body.organization.id}/invitations`)).body;
  assert.equal(invitations.length, 1);
  const [{ email, role, invitedBy, invitedByOperator }] = invitations;
  assert.deepEqual({ email, role, invitedBy, invitedByOperator }, {
    email: "ada@example.com",
    role: "OWNER",
    invitedBy: null,
    invitedByOperator: true,
  });
  assert.deepEqual(await actionsOf(test, body.organization.id), [
    "organization.created",
    "invitation.created",
  ]);
  const repeated = await send("POST /organizations", { name: "Engines", externalId: "c-1", owner });
  assert.equal(repeated.body.error.code, "external_id_taken");
  assert.equal((await test.mails()).length, 1);
});

testApp("without a mail server, an owner can't be invited and nothing is written", async (test) => {
  const send = await operatorOf(test);
  const owner = { email: "ada@example.com", name: "Ada" };
  const { status, body } = await send("POST /organizations", { name: "Engines", owner });
  assert.equal(status, 503);
  assert.equal(body.error.code, "mail_unavailable");
  assert.deepEqual((await send("GET /organizations")).body.organizations, []);
}, { BASE_URL: "https://auth.example.com" });

onEveryDatabase("lists members, and invites and disinvites people", async (test) => {
  const send = await operatorOf(test);
  const { organization } = (await send("POST /organizations", { name: "Engines", externalId: "c-1" })).body;
  const ada = await newPerson(test, { organizationId: organization.id, role: "OWNER" });
  const { members } = (await send("GET /organizations/external:c-1/members")).body;
  assert.equal(members.length, 1);
  assert.equal(members[0].user.id, ada.userId);
  assert.equal(members[0].twoStep, false);
  const path = "/organizations/external:c-1/invitations";
  const invite = (email: string) => send(`POST ${path}`, { email, role: "ADMIN" });
  const { invitation } = (await invite("grace@example.com")).body;
  assert.equal(invitation.status, "pending");
  assert.equal((await invite("grace@example.com")).body.error.code, "already_invited");
  assert.equal((await invite(ada.email)).body.error.code, "already_member");
  assert.equal((await send(`DELETE ${path}/${invitation.id}`)).status, 204);
  assert.equal((await send(`DELETE ${path}/${invitation.id}`)).status, 404);
  assert.deepEqual(
    (await send(`GET ${path}`)).body.invitations.map(({ status }: { status: string }) => status),
    ["revoked"],
  );
});

onEveryDatabase("keeps notes that customers find no trace of", async (test) => {
  const send = await operatorOf(test);
  const id = await newOrganization(test, "Engines");
  const path = `/organizations/${id}/notes`;
  const { note } = (await send(`POST ${path}`, { text: "  Quarterly invoices. " })).body;
  assert.equal(note.text, "Quarterly invoices.");
  assert.equal(note.author.name, "Invoices");
  const second = (await send(`POST ${path}`, { text: "Second" })).body.note;
  assert.deepEqual((await send(`GET ${path}`)).body, { notes: [second, note], nextCursor: null });
  const page = (await send(`GET ${path}?limit=1`)).body;
  assert.deepEqual((await send(`GET ${path}?limit=1&cursor=${page.nextCursor}`)).body.notes, [note]);
  const other = await newOrganization(test, "Other");
  assert.equal((await send(`DELETE /organizations/${other}/notes/${note.id}`)).status, 404);
  assert.equal((await send(`DELETE ${path}/${note.id}`)).status, 204);
  assert.equal((await send(`DELETE ${path}/${note.id}`)).status, 404);
  for (const text of [" ", "x".repeat(2001)]) {
    assert.equal((await send(`POST ${path}`, { text })).body.error.details[0].path, "text");
  }
  assert.deepEqual(await actionsOf(test, id), []);
  assert.deepEqual(await actionsOf(test, null), [
    "organization.note_added",
    "organization.note_added",
    "organization.note_deleted",
  ]);
});
