// Organizations over the operators' API: list, search, create, change, suspend, delete, on both kinds of database.
import assert from "node:assert/strict";
import { metadataKeysMax } from "../../../../domain/limits.ts";
import { createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { assertSent, operatorOf } from "../../../support/operators/operator_api.ts";
import { assertOutcome } from "../../../support/app/rows.ts";
import { lastMail, me } from "../../../support/people/people.ts";
import { onBothDatabases, onEveryDatabase, recordWith } from "../../../support/meter/usage.ts";
import { newOrganization, newPerson, run } from "../../../support/people/scene.ts";

const scopes = ["organizations:read", "organizations:write"] as const;

async function actionsOf(test: TestApp, organizationId: string | null): Promise<string[]> {
  const rows = await test.opened.database.read<{ action: string }>({
    sql: "SELECT action FROM audit_events WHERE organization_id IS ? AND actor_type = 'operator' ORDER BY id",
    args: [organizationId],
  });
  return rows.map(({ action }) => action);
}

onEveryDatabase("creates, reads and changes an organization, by id and by external id", async (test) => {
  const send = await operatorOf(test, scopes);
  const createdAt = new Date(test.now()).toISOString();
  const metadata = { region: "eu", plan: "gold" };
  const created = await send("POST /organizations", { name: " Engines ", externalId: "cus/1 %?", metadata });
  assert.equal(created.status, 201);
  const { organization } = created.body;
  const { id, planId } = organization;
  const numbers = {
    apiKeysMax: null,
    membersMax: null,
    requestsPerSecond: null,
    usageSeriesMax: null,
    holdsMax: null,
  };
  assert.deepEqual(organization, {
    ...{ id, name: "Engines", externalId: "cus/1 %?", status: "active", suspendedAt: null, planId, metadata },
    ...{ overrides: { ...numbers, limits: [] }, timezone: "UTC", memberCount: 0, activeApiKeyCount: 0 },
    ...{ createdAt, lastUsedAt: null, lastUsageAt: null },
  });
  const byExternalId = `/organizations/external:${encodeURIComponent("cus/1 %?")}`;
  assert.deepEqual((await send(`GET /organizations/${id}`)).body, { organization });
  assert.deepEqual((await send(`GET ${byExternalId}`)).body, { organization });

  const change = { name: "Mills", metadata: { plan: null, tier: "1" }, status: "suspended" };
  const changed = await send(`PATCH ${byExternalId}`, change);
  assert.deepEqual(changed.body.organization, {
    ...organization,
    ...{ name: "Mills", metadata: { region: "eu", tier: "1" }, status: "suspended", suspendedAt: createdAt },
  });
  test.advance(1000);
  assert.deepEqual((await send(`PATCH /organizations/${id}`, change)).body, changed.body);
  const resumed = await send(`PATCH /organizations/${id}`, { status: "active", externalId: null });
  const { status, externalId } = resumed.body.organization;
  assert.deepEqual([status, externalId], ["active", null]);
  await assertSent(send, [[`GET ${byExternalId}`, undefined, "404 not_found"]]);
  assert.deepEqual(await actionsOf(test, id), [
    "organization.created",
    "organization.renamed",
    "organization.metadata_changed",
    "organization.suspended",
    "organization.external_id_changed",
    "organization.resumed",
  ]);
});

onBothDatabases("an external id belongs to one organization at a time, also in a race", async (test) => {
  const send = await operatorOf(test, scopes);
  const create = (externalId: string) => send("POST /organizations", { name: "Engines", externalId });
  const both = await Promise.all([create("c-1"), create("c-1")]);
  assert.deepEqual(both.map(({ status, body }) => body.error?.code ?? status).sort(), [
    201,
    "external_id_taken",
  ]);
  const second = (await create("c-2")).body.organization;
  await assertSent(send, [
    [`PATCH /organizations/${second.id}`, { name: "Mills", externalId: "c-1" }, "409 external_id_taken"],
  ]);
  assert.deepEqual((await send("GET /organizations/external:c-2")).body.organization, second);
  assert.deepEqual(await actionsOf(test, second.id), ["organization.created"]);
  await assertSent(send, [["DELETE /organizations/external:c-1", undefined, "204"]]);
  const moved = await send("PATCH /organizations/external:c-2", { externalId: "c-1" });
  assert.equal(moved.body.organization.id, second.id);
});

onEveryDatabase("lists and searches organizations, sorted by age and by name", async (test) => {
  const send = await operatorOf(test, scopes);
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
  const send = await operatorOf(test, scopes);
  const id = await newOrganization(test, "Engines");
  for (const role of ["OWNER", "MEMBER"] as const) await newPerson(test, { organizationId: id, role });
  const insert =
    `INSERT INTO api_keys (id, organization_id, key_hash, key_prefix, name, created_at, last_used_at, revoked_at)
      VALUES (?, ?, ?, 'p', 'K', 0, ?, ?)`;
  const keys = [["key_1", null, 5000], ["key_2", null, null], ["key_3", 1, 6000]] as const;
  for (const [key, revokedAt, lastUsedAt] of keys) {
    await run(test, insert, key, id, key, lastUsedAt, revokedAt);
  }
  const { organization } = (await send(`GET /organizations/${id}`)).body;
  const { memberCount, activeApiKeyCount, lastUsedAt } = organization;
  assert.deepEqual([memberCount, activeApiKeyCount, lastUsedAt], [2, 2, "1970-01-01T00:00:06.000Z"]);
  assert.deepEqual((await send("GET /organizations")).body.organizations, [{ ...organization, usage: null }]);
});

testApp("rejects invalid input without changing anything", async (test) => {
  const send = await operatorOf(test, scopes);
  const { id } = (await send("POST /organizations", { name: "Engines" })).body.organization;
  const many = (start: number, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${start + i}`, "x"]));
  const create = "POST /organizations";
  const invalid: readonly [string, unknown, string][] = [
    [create, { name: "" }, "name"],
    [create, { name: "N", externalId: "" }, "externalId"],
    [create, { name: "N", externalId: "é" }, "externalId"],
    [create, { name: "N", externalId: " x" }, "externalId"],
    [create, { name: "N", externalId: "x".repeat(256) }, "externalId"],
    [create, { name: "N", metadata: many(0, metadataKeysMax + 1) }, "metadata"],
    [create, { name: "N", metadata: { x: "y".repeat(501) } }, "metadata.x"],
    [create, { name: "N", metadata: { x: 1 } }, "metadata.x"],
    [create, { name: "N", owner: { email: "no address" } }, "email"],
    [`PATCH /organizations/${id}`, { status: "deleted" }, "status"],
    [`PATCH /organizations/${id}`, { planId: "x" }, "planId"],
    ...[
      ["sort=size", "sort"],
      ["status=", "status"],
      ["status=over_limit", "status"],
      ["limits=reached", "limits"],
      ["plan=gold", "plan"],
      ["metric=nope", "metric"],
      ["sort=usage&cursor=nonsense", "cursor"],
    ].map((
      [query, path = ""],
    ): [string, unknown, string] => [`GET /organizations?${query}`, undefined, path]),
    ...[["plan=gold", "plan"], ["metric=nope", "metric"], ["sort=size", "sort"], ["limit=3", "limit"]].map(
      ([query, path = ""]): [string, unknown, string] => [`GET /organizations.csv?${query}`, undefined, path],
    ),
  ];
  await assertSent(send, [
    ...invalid.map(([route, json, path]) => [route, json, `422 validation_failed ${path}`] as const),
    [`PATCH /organizations/${id}`, { metadata: many(0, metadataKeysMax) }, "200"],
    [
      `PATCH /organizations/${id}`,
      { name: "No", metadata: { one: "more" } },
      "422 validation_failed metadata",
    ],
    [`PATCH /organizations/${id}`, { metadata: { one: "more", key0: null } }, "200"],
    ...[`org_${"0".repeat(32)}`, "x", "external:", "external:x"].flatMap((unknown) => [
      [`GET /organizations/${unknown}`, undefined, "404 not_found"] as const,
      [`PATCH /organizations/${unknown}`, { name: "X" }, "404 not_found"] as const,
      [`DELETE /organizations/${unknown}`, undefined, "404 not_found"] as const,
    ]),
  ]);
  assert.equal((await send("GET /organizations?limit=100")).body.organizations.length, 1);
});

onEveryDatabase("too many keys of metadata change nothing, also at the same time", async (test) => {
  const send = await operatorOf(test, scopes);
  const metadata = Object.fromEntries(
    Array.from({ length: metadataKeysMax - 1 }, (_, n) => [`key${n}`, "x"]),
  );
  const { id } = (await send("POST /organizations", { name: "Before", metadata })).body.organization;
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
  assert.deepEqual([organization.name, Object.keys(organization.metadata).length], [
    changed[0],
    metadataKeysMax,
  ]);
  const renamed = (await actionsOf(test, id)).filter((action) => action === "organization.renamed");
  assert.equal(renamed.length, 1);
});

onEveryDatabase(
  "deleting an organization ends its members and keys, and frees its external id",
  async (test) => {
    const send = await operatorOf(test, scopes);
    const create = ["POST /organizations", { name: "Engines", externalId: "c-1" }] as const;
    const { id } = (await send(...create)).body.organization;
    const ada = await newPerson(test, { organizationId: id, role: "OWNER" });
    const { fullKey } = await createTestKey(test, ada);
    await assertOutcome(recordWith(test, fullKey), 201);
    await assertSent(send, [["DELETE /organizations/external:c-1", undefined, "204"]]);
    assert.deepEqual((await me(test, ada.cookie)).memberships, []);
    await assertOutcome(recordWith(test, fullKey), "401 invalid_api_key");
    assert.deepEqual((await send("GET /organizations")).body.organizations, []);
    await assertSent(send, [
      [`GET /organizations/${id}`, undefined, "404 not_found"],
      [`DELETE /organizations/${id}`, undefined, "404 not_found"],
      [...create, "201"],
    ]);
  },
);

testApp("invites the owner of a new organization in the same transaction", async (test) => {
  const send = await operatorOf(test, scopes);
  const owner = { email: "Ada@Example.com", name: "Ada" };
  const create = ["POST /organizations", { name: "Engines", externalId: "c-1", owner }] as const;
  const { id } = (await send(...create)).body.organization;
  const mail = await lastMail(test, "ada@example.com");
  assert.equal(mail.subject, "You are invited to Engines");
  assert.match(mail.text, /^Hello Ada,\n\nYou are invited to join “Engines” at .* as an owner\./);
  const { invitations: [invitation, ...more] } = (await send(`GET /organizations/${id}/invitations`)).body;
  const { email, role, invitedBy, invitedByOperator } = invitation;
  assert.deepEqual([email, role, invitedBy, invitedByOperator], ["ada@example.com", "OWNER", null, true]);
  assert.deepEqual(more, []);
  assert.deepEqual(await actionsOf(test, id), ["organization.created", "invitation.created"]);
  await assertSent(send, [[...create, "409 external_id_taken"]]);
  assert.equal((await test.mails()).length, 1);
});

testApp("without a mail server, an owner can't be invited and nothing is written", async (test) => {
  const send = await operatorOf(test, scopes);
  const owner = { email: "ada@example.com", name: "Ada" };
  await assertSent(send, [["POST /organizations", { name: "Engines", owner }, "503 mail_unavailable"]]);
  assert.deepEqual((await send("GET /organizations")).body.organizations, []);
}, { BASE_URL: "https://auth.example.com" });

onEveryDatabase("lists members, and invites and disinvites people", async (test) => {
  const send = await operatorOf(test, scopes);
  const { organization } = (await send("POST /organizations", { name: "Engines", externalId: "c-1" })).body;
  const ada = await newPerson(test, { organizationId: organization.id, role: "OWNER" });
  const { members: [member, ...more] } = (await send("GET /organizations/external:c-1/members")).body;
  assert.deepEqual([member.user.id, member.twoStep, more], [ada.userId, false, []]);
  const path = "/organizations/external:c-1/invitations";
  const grace = [`POST ${path}`, { email: "grace@example.com", role: "ADMIN" }] as const;
  const { invitation } = (await send(...grace)).body;
  assert.equal(invitation.status, "pending");
  await assertSent(send, [
    [...grace, "409 already_invited"],
    [`POST ${path}`, { email: ada.email, role: "ADMIN" }, "409 already_member"],
    [`DELETE ${path}/${invitation.id}`, undefined, "204"],
    [`DELETE ${path}/${invitation.id}`, undefined, "404 not_found"],
  ]);
  const { invitations } = (await send(`GET ${path}`)).body;
  assert.deepEqual(invitations.map(({ status }: { status: string }) => status), ["revoked"]);
});

onEveryDatabase("keeps notes that customers find no trace of", async (test) => {
  const send = await operatorOf(test, scopes);
  const id = await newOrganization(test, "Engines");
  const path = `/organizations/${id}/notes`;
  const { note } = (await send(`POST ${path}`, { text: "  Quarterly invoices. " })).body;
  assert.deepEqual([note.text, note.author.name], ["Quarterly invoices.", "Invoices"]);
  const second = (await send(`POST ${path}`, { text: "Second" })).body.note;
  assert.deepEqual((await send(`GET ${path}`)).body, { notes: [second, note], nextCursor: null });
  const page = (await send(`GET ${path}?limit=1`)).body;
  assert.deepEqual((await send(`GET ${path}?limit=1&cursor=${page.nextCursor}`)).body.notes, [note]);
  const other = await newOrganization(test, "Other");
  assert.deepEqual((await send(`GET /organizations/${other}/notes`)).body.notes, []);
  await assertSent(send, [
    [`DELETE /organizations/${other}/notes/${note.id}`, undefined, "404 not_found"],
    [`DELETE ${path}/${note.id}`, undefined, "204"],
    [`DELETE ${path}/${note.id}`, undefined, "404 not_found"],
    [`POST ${path}`, { text: " " }, "422 validation_failed text"],
    [`POST ${path}`, { text: "x".repeat(2001) }, "422 validation_failed text"],
  ]);
  assert.deepEqual(await actionsOf(test, id), []);
  const [added, deleted] = ["organization.note_added", "organization.note_deleted"];
  assert.deepEqual(await actionsOf(test, null), [added, added, deleted]);
});
