// Forward authentication with a session: identity headers, conditions and denied requests.
import assert from "node:assert/strict";
import { newId } from "../../../../domain/id.ts";
import { assertError, startTestApp, testApp } from "../../../support/app/app.ts";
import { waitForAudit } from "../../../support/app/audit.ts";
import {
  ask,
  forwardPath,
  identityNames,
  pageLoad,
  statusAndIdentity,
  watchedDatabase,
} from "../../../support/network/forward.ts";
import { joinedPerson, verifiedPerson } from "../../../support/people/people.ts";
import { newOrganization, newPerson, run } from "../../../support/people/scene.ts";

const real = {
  BASE_URL: "https://auth.example.com",
  COOKIE_DOMAIN: ".example.com",
  ALLOWED_ORIGINS: "https://*.example.com,https://app.other.example",
} as const;

testApp("a signed-in user is admitted and identified in every header", async (test) => {
  const ada = await verifiedPerson(test, "Ada Lovelace");
  const response = await ask(test, "", { cookie: ada.cookie });
  assert.deepEqual(statusAndIdentity(response), {
    status: 200,
    identity: [ada.userId, ada.email, "Ada Lovelace", ada.organizationId, "OWNER", "", "", "", ""],
  });
  assert.equal(await response.text(), "");
  assert.match(response.headers.get("cache-control") ?? "", /no-store/);
  const head = await ask(test, "", { method: "HEAD", cookie: ada.cookie });
  assert.deepEqual(statusAndIdentity(head), statusAndIdentity(response));
  await assertError(await ask(test, "", { method: "POST", cookie: ada.cookie }), 405, "method_not_allowed");
});

testApp("only GET and HEAD can admit a request", async (test) => {
  const ada = await test.signUp();
  for (const method of ["OPTIONS", "POST", "PUT", "PATCH", "DELETE"]) {
    for (const origin of ["https://app.example.com", "https://evil.example"]) {
      const headers = { origin, "access-control-request-method": "GET" };
      for (const cookie of [ada.cookie, undefined]) {
        const response = await ask(test, "?role=OWNER", { method, headers, ...(cookie ? { cookie } : {}) });
        assert.ok(response.status === 405 || response.status === 403, `${method} ${response.status}`);
        assert.equal(response.headers.get("remote-user"), null);
      }
    }
  }
}, real);

testApp("empty identity headers are present, so that they replace those of the client", async (test) => {
  const alone = await newPerson(test, null);
  const claims = Object.fromEntries(identityNames.map((name) => [name, "usr_forged"]));
  const response = await ask(test, "", { cookie: alone.cookie, headers: claims });
  const { status, identity: [user, email, name, ...rest] } = statusAndIdentity(response);
  assert.equal(status, 200);
  assert.deepEqual([user, email], [alone.userId, alone.email]);
  assert.match(name ?? "", /^Person /);
  assert.deepEqual(rest, ["", "", "", "", "", ""]);
});

testApp(
  "headers say whether the email address is confirmed, and email=verified requires it",
  async (test) => {
    const eve = await test.signUp("Eve");
    const { headers } = await ask(test, "", { cookie: eve.cookie });
    assert.deepEqual([headers.get("remote-email"), headers.get("remote-email-verified")], [
      eve.email,
      "false",
    ]);
    await assertError(await ask(test, "?email=verified", { cookie: eve.cookie }), 403, "email_unverified");
    await assertError(await ask(test, "?email=any", { cookie: eve.cookie }), 422, "validation_failed");
    const ada = await verifiedPerson(test);
    const response = await ask(test, "?email=verified", { cookie: ada.cookie });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("remote-email-verified"), "true");
  },
);

testApp("names and email addresses are encoded in ASCII, unambiguously", async (test) => {
  const ada = await verifiedPerson(test);
  const names = [
    "Zoë Ω 100%",
    "👩‍💻 Ada",
    "Ada\r\nRemote-Role: OWNER",
    "Ada\u0000\u007f\u0085\u2028",
    "a%C3%AB",
    "aë",
    `"Ada", <ada>; role=OWNER`,
  ];
  for (const name of names) {
    await run(
      test,
      "UPDATE users SET name = ?, email = ? WHERE id = ?",
      name,
      `${name}@x.example`,
      ada.userId,
    );
    const response = await ask(test, "", { cookie: ada.cookie });
    assert.equal(response.status, 200);
    for (const [header, plain] of [["remote-name", name], ["remote-email", `${name}@x.example`]] as const) {
      const value = response.headers.get(header) ?? "";
      assert.match(value, /^[\x20-\x7e]+$/);
      assert.equal(decodeURIComponent(value), plain);
    }
    assert.equal(response.headers.get("remote-role"), "OWNER");
  }
  await run(test, "UPDATE users SET name = 'Ada+O''Neil (x)' WHERE id = ?", ada.userId);
  assert.equal((await ask(test, "", { cookie: ada.cookie })).headers.get("remote-name"), "Ada+O'Neil (x)");
});

testApp("requests without a valid session get a 401 without identity headers", async (test) => {
  const ada = await test.signUp();
  const isRefused = async (cookie?: string) => {
    const response = await ask(test, "", cookie === undefined ? {} : { cookie });
    for (const name of identityNames) assert.equal(response.headers.get(name), null);
    await assertError(response, 401, "unauthenticated");
  };
  await isRefused();
  for (
    const cookie of [
      "access_token=",
      "access_token",
      "=;;=; access_token==",
      `access_token=${"A".repeat(43)}`,
      `access_token="${"A".repeat(4_000)}"`,
      "access_token=%00%0d%0a",
      `Access_Token=${ada.cookie.slice("access_token=".length)}`,
      Array.from({ length: 300 }, (_, i) => `access_token=${i}`).join("; "),
    ]
  ) await isRefused(cookie);
  assert.equal((await ask(test, "", { cookie: `access_token=stale; ${ada.cookie}` })).status, 200);
  await test.send("/api/auth/sign-out", { method: "POST", cookie: ada.cookie });
  await isRefused(ada.cookie);
  const bob = await test.signUp();
  await run(test, "UPDATE users SET disabled_at = ? WHERE id = ?", test.now(), bob.userId);
  await isRefused(bob.cookie);
});

testApp("role requires at least that role in the active organization", async (test) => {
  const owner = await verifiedPerson(test);
  const people = {
    OWNER: owner,
    ADMIN: await joinedPerson(test, owner, "ADMIN"),
    MEMBER: await joinedPerson(test, owner, "MEMBER"),
  };
  const passes = { OWNER: ["OWNER"], ADMIN: ["OWNER", "ADMIN"], MEMBER: ["OWNER", "ADMIN", "MEMBER"] };
  for (const [least, through] of Object.entries(passes)) {
    for (const [role, person] of Object.entries(people)) {
      const response = await ask(test, `?role=${least}`, { cookie: person.cookie });
      if (through.includes(role)) assert.equal(response.headers.get("remote-role"), role);
      else await assertError(response, 403, "forbidden");
    }
  }
  const alone = await newPerson(test, null);
  await assertError(await ask(test, "?role=MEMBER", { cookie: alone.cookie }), 403, "forbidden");
  // The role is checked on each request, and denied requests are in the audit log.
  const path = `/api/portal/organizations/${owner.organizationId}/members/${people.ADMIN.userId}`;
  await test.send(path, { method: "PATCH", cookie: owner.cookie, json: { role: "MEMBER" } });
  await assertError(await ask(test, "?role=ADMIN", { cookie: people.ADMIN.cookie }), 403, "forbidden");
  const denied = await waitForAudit(test, owner.cookie, "?action=access.denied", 2);
  assert(
    denied.some(({ actor, details }) => actor.id === people.ADMIN.userId && details["path"] === forwardPath),
  );
});

testApp("organization requires membership in it, and uses the role there", async (test) => {
  const owner = await verifiedPerson(test);
  const member = await joinedPerson(test, owner, "MEMBER");
  const own = await newOrganization(test, "Own");
  await run(
    test,
    "INSERT INTO memberships (user_id, organization_id, role, created_at) VALUES (?, ?, 'OWNER', ?)",
    member.userId,
    own,
    test.now(),
  );
  const stranger = await test.signUp();
  const inOwners = `?organization=${owner.organizationId}`;
  const identity = async (query: string, { cookie }: { cookie: string }) =>
    statusAndIdentity(await ask(test, query, { cookie })).identity.slice(3);
  assert.deepEqual(await identity("", member), [owner.organizationId, "MEMBER", "", "", "", ""]);
  assert.deepEqual(await identity(`?organization=${own}`, member), [own, "OWNER", "", "", "", ""]);
  assert.deepEqual(await identity(`?organization=${own}&role=OWNER`, member), [own, "OWNER", "", "", "", ""]);
  assert.deepEqual(await identity(inOwners, member), [owner.organizationId, "MEMBER", "", "", "", ""]);
  // A role in one organization does not count in another.
  await assertError(await ask(test, `${inOwners}&role=ADMIN`, { cookie: member.cookie }), 403, "forbidden");
  const denials = [
    await ask(test, inOwners, { cookie: stranger.cookie }),
    await ask(test, `?organization=${newId("org")}`, { cookie: stranger.cookie }),
  ];
  const [known, unknown] = await Promise.all(
    denials.map((response) => assertError(response, 403, "forbidden")),
  );
  assert.deepEqual(known?.error, unknown?.error);
  await assertError(await ask(test, inOwners), 401, "unauthenticated");
  const path = `/api/portal/organizations/${owner.organizationId}/members/${member.userId}`;
  assert.equal((await test.send(path, { method: "DELETE", cookie: owner.cookie })).status, 204);
  await assertError(await ask(test, inOwners, { cookie: member.cookie }), 403, "forbidden");
});

testApp("invalid queries are denied with details", async (test) => {
  const { cookie, organizationId } = await test.signUp();
  const queries = {
    role: ["?role=", "?role=owner", "?role=OWNER&role=MEMBER", "?role=MEMBER,ADMIN", "?role=MEMBER%00"],
    organization: [
      "?organization=",
      "?organization=org_1",
      `?organization=${organizationId}&organization=${organizationId}`,
    ],
    accept: [
      "?accept=",
      "?accept=any",
      "?accept=key,key",
      "?accept=session&accept=key",
      "?accept=session,key,",
    ],
    meter: [
      "?meter=a/b",
      "?meter=a/b&accept=session",
      ...["", "a", "a/", "/b", "a/b/c", "a b/c", "a/ä"].map((meter) => `?accept=session,key&meter=${meter}`),
    ],
    redirect: ["?redirect=", "?redirect=303"],
    rol: ["?rol=ADMIN"],
    Role: ["?Role=ADMIN"],
  };
  for (const [path, texts] of Object.entries(queries)) {
    for (const query of texts) {
      const { error } = await assertError(await ask(test, query, { cookie }), 422, "validation_failed");
      assert.deepEqual(error.details?.map((detail) => detail.path), [path], query);
    }
  }
});

testApp("oversized headers and addresses are denied", async (test) => {
  const { cookie } = await test.signUp();
  const headers = { "x-forwarded-uri": `/${"a".repeat(17_000)}` };
  await assertError(await ask(test, "", { cookie, headers }), 431, "headers_too_large");
  await assertError(await ask(test, `?role=${"A".repeat(9_000)}`, { cookie }), 414, "uri_too_long");
});

Deno.test("denies requests when the database is unavailable", async () => {
  const watched = watchedDatabase();
  const test = await startTestApp({}, { open: watched.open });
  const { cookie } = await test.signUp();
  watched.refuse("all");
  const response = await ask(test, "", { cookie, headers: pageLoad("http://localhost:8000/") });
  assert.equal(response.headers.get("retry-after"), "1");
  await assertError(response, 503, "unavailable");
  watched.refuse("nothing");
  assert.equal((await ask(test, "", { cookie })).status, 200);
  await test.dispose();
});

Deno.test("a request with a session costs one database read", async () => {
  const watched = watchedDatabase();
  const test = await startTestApp({}, { open: watched.open });
  const { cookie, organizationId } = await test.signUp();
  const before = watched.operations();
  const response = await ask(test, `?role=OWNER&organization=${organizationId}&accept=session,key`, {
    cookie,
  });
  assert.equal(response.status, 200);
  assert.equal(watched.operations() - before, 1);
  // A denied request costs no more, except for an audit entry once a minute.
  const deny = () => ask(test, `?organization=${newId("org")}`, { cookie });
  await assertError(await deny(), 403, "forbidden");
  const after = watched.operations();
  await assertError(await deny(), 403, "forbidden");
  assert.equal(watched.operations() - after, 1);
  await test.dispose();
});
