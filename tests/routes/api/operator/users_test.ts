// Users over the operators' API, on both kinds of database.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { type TestApp, testApp, testPassword } from "../../../support/app/app.ts";
import { asOperator, assertSent, operatorOf } from "../../../support/operators/operator_api.ts";
import { makeOperator, newOperatorToken } from "../../../support/operators/operators.ts";
import { onBothDatabases, onEveryDatabase } from "../../../support/meter/usage.ts";
import { newPerson, run } from "../../../support/people/scene.ts";
import { assertRows, fetchJson } from "../../../support/app/rows.ts";
import { mailedToken, me } from "../../../support/people/people.ts";

type Send = ReturnType<typeof asOperator>;

/** @returns The names that a search finds, in the order of the list. */
async function names(send: Send, query: Record<string, string>): Promise<string[]> {
  const { status, body } = await send(`GET /users?${new URLSearchParams(query)}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.users.map(({ name }: { name: string }) => name);
}

async function addUsers(test: TestApp, people: readonly (readonly [name: string, email: string])[]) {
  const insert = "INSERT INTO users (id, email, name, password_hash, created_at) VALUES (?, ?, ?, '', ?)";
  for (const [n, [name, email]] of people.entries()) {
    await run(test, insert, `usr_${String(n).padStart(32, "0")}`, email, name, test.now());
  }
}

onBothDatabases("finds users by any part of a name or address, in any case and accent", async (test) => {
  const send = await operatorOf(test, ["users:read"]);
  const [elodie, lukasz, sakura, bob] = [
    "Élodie Müller",
    "Łukasz ÅNGSTRÖM",
    "田中 さくら",
    '100% "Bo_b" \\ OR NEAR',
  ];
  await addUsers(
    test,
    [
      [elodie, "elodie@north.example"],
      [lukasz, "l.a@halden.example"],
      [sakura, "sakura@north.example"],
      [bob, "bob@halden.example"],
    ] as const,
  );
  const found: Record<string, (string | undefined)[]> = {
    "LODIE": [elodie],
    "élod": [elodie],
    "MUL": [elodie],
    "ångström": [lukasz],
    "h.example": [sakura, elodie],
    " halden ": [bob, lukasz],
    "田中": [sakura],
    "中 さ": [sakura],
    "SA": [sakura],
    '"bo_b" \\ or': [bob],
    "0%": [bob],
    "_": [bob],
    "O_b": [bob],
    "nobody": [],
    "zq": [],
    [`usr_${"2".padStart(32, "0")}`]: [sakura],
    "": [bob, sakura, lukasz, elodie],
  };
  for (const [search, expected] of Object.entries(found)) {
    assert.deepEqual(await names(send, { search }), expected, search);
  }
  await run(test, "UPDATE users SET name = 'Renée' WHERE email = 'elodie@north.example'");
  await run(test, "UPDATE users SET email = 'x@south.example' WHERE email = 'l.a@halden.example'");
  await run(test, "DELETE FROM users WHERE email = 'bob@halden.example'");
  const changed = { "müller": [], "renee": ["Renée"], "halden": [], "south": [lukasz] };
  for (const [search, expected] of Object.entries(changed)) {
    assert.deepEqual(await names(send, { search }), expected, search);
  }
  await run(test, "INSERT INTO user_search (user_search, rank) VALUES ('integrity-check', 1)");
});

onEveryDatabase("pages through users once each, also while searching and filtering", async (test) => {
  const send = await operatorOf(test, ["users:read"]);
  await addUsers(test, Array.from({ length: 9 }, (_, n) => [`Person ${n}`, `p${n}@many.example`] as const));
  await run(test, "UPDATE users SET disabled_at = 1 WHERE name IN ('Person 2', 'Person 5')");
  for (const query of ["", "&search=many", "&search=p", "&search=many&status=active", "&status=disabled"]) {
    const seen: string[] = [];
    for (let cursor = ""; cursor !== "end";) {
      const { body } = await send(`GET /users?limit=2${query}${cursor}`);
      seen.push(...body.users.map(({ name }: { name: string }) => name.slice(-1)));
      cursor = body.nextCursor === null ? "end" : `&cursor=${body.nextCursor}`;
    }
    const expected = query.includes("active") ? "8764310" : query.includes("disabled") ? "52" : "876543210";
    assert.equal(seen.join(""), expected, query);
  }
  assert.deepEqual(await names(send, { status: "disabled", search: "son 5" }), ["Person 5"]);
  assert.deepEqual(await names(send, { status: "disabled", search: "son 4" }), []);
  assert.equal((await send("GET /users?cursor=p1")).body.error.code, "validation_failed");
  assert.equal((await send(`GET /users?search=${"x".repeat(201)}`)).body.error.code, "validation_failed");
});

onEveryDatabase(
  "shows a user without secrets, disables them immediately, and enables them again",
  async (test) => {
    const { fullToken, id } = await newOperatorToken(test, ["users:read", "users:write"]);
    const send = asOperator(test, fullToken);
    const ada = await test.signUp();
    const { status, body } = await send(`GET /users/${ada.userId}`);
    assert.equal(status, 200);
    assert.equal(body.user.email, ada.email);
    assert.deepEqual(body.user.organizations.map(({ id, role }: Record<string, string>) => [id, role]), [
      [ada.organizationId, "OWNER"],
    ]);
    assert.equal(body.sessions.length, 1);
    assert.doesNotMatch(JSON.stringify(body), /hash|argon|token/i);
    assert.equal((await send("GET /users/usr_0199d3c1a2b47c6e8f00112233445566")).status, 404);
    assert.equal((await send("GET /users/x")).status, 404);
    const signedIn = async () => (await me(test, ada.cookie)).authenticated;
    const signIn = (outcome: number) =>
      assertRows(test, {}, [[
        "POST /api/auth/sign-in",
        { email: ada.email, password: testPassword },
        outcome,
      ]]);
    assert.equal(await signedIn(), true);
    const user = `/users/${ada.userId}`;
    const { body: disabled } = await send(`PATCH ${user}`, { disabled: true });
    assert.equal(disabled.user.disabledAt, new Date(test.now()).toISOString());
    assert.equal(await signedIn(), false);
    await signIn(401);
    await assertSent(send, [[`POST ${user}/reset-password`, undefined, "422 validation_failed"]]);
    assert.equal((await send(`PATCH ${user}`, { disabled: false })).body.user.disabledAt, null);
    await assertSent(send, [[`PATCH ${user}`, { disabled: false }, "200"]]);
    await signIn(200);
    for (let n = 0; n < 2; n++) await assertSent(send, [[`DELETE ${user}/sessions`, undefined, "204"]]);
    const rows = await test.opened.database.read(sql`
    SELECT action, actor_id AS actor, organization_id AS organization, target_name AS target
    FROM audit_events WHERE actor_type = 'operator' ORDER BY id`);
    const entry = { actor: id, organization: ada.organizationId, target: ada.email };
    const actions = ["account.disabled", "account.enabled", "session.all_ended"];
    assert.deepEqual(rows, actions.map((action) => ({ action, ...entry })));
  },
);

onEveryDatabase("emails a link to choose a new password, and shows it to no one", async (test) => {
  const send = await operatorOf(test, ["users:write"]);
  const { userId, email } = await test.signUp();
  const { status, body } = await send(`POST /users/${userId}/reset-password`);
  assert.deepEqual([status, body], [200, { sentTo: email, link: null }]);
  const json = { token: await mailedToken(test, email), password: "seven blue lanterns" };
  await assertRows(test, {}, [["POST /api/auth/password/reset", json, 204]]);
});

onEveryDatabase("lets no token change an operator, and no operator disable themselves", async (test) => {
  const send = await operatorOf(test, ["users:read", "users:write"]);
  const [mara, other] = [await newPerson(test, null), await newPerson(test, null)];
  for (const person of [mara, other]) await makeOperator(test, person);
  const user = `/users/${mara.userId}`;
  await assertSent(send, [
    [`PATCH ${user}`, { disabled: true }, "403 forbidden"],
    [`PATCH ${user}`, { disabled: false }, "403 forbidden"],
    [`POST ${user}/reset-password`, undefined, "403 forbidden"],
    [`DELETE ${user}/sessions`, undefined, "403 forbidden"],
  ]);
  assert.equal((await send(`GET ${user}`)).body.sessions.length, 1);
  await assertRows(test, { ...mara, at: "/api/operator" }, [
    [`PATCH ${user}`, { disabled: true }, "403 forbidden"],
    [`PATCH /users/${other.userId}`, { disabled: true }, 200],
  ]);
});

testApp("without a mail server, an operator account gets the link and a token doesn't", async (test) => {
  const ada = await test.signUp();
  const mara = await test.signUp();
  await makeOperator(test, mara);
  const reset = `POST /users/${ada.userId}/reset-password`;
  await assertSent(await operatorOf(test, ["users:write"]), [[reset, undefined, "503 mail_unavailable"]]);
  const { sentTo, link } = await fetchJson(test, { ...mara, at: "/api/operator" }, reset);
  assert.equal(sentTo, null);
  assert.match(link.address, /^https:\/\/gatehouse\.example\.com\/reset-password\?token=/);
}, { BASE_URL: "https://gatehouse.example.com" });
