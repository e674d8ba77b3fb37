// Users over the operators' API, on both kinds of database.
import assert from "node:assert/strict";
import { assertError, startTestApp, type TestApp, testPassword } from "../../../support/app/app.ts";
import { asOperator, operatorOf } from "../../../support/operators/operator_api.ts";
import { makeOperator, newOperatorToken } from "../../../support/operators/operators.ts";
import { onEveryDatabase, unlimited } from "../../../support/meter/usage.ts";
import { newPerson, run } from "../../../support/people/scene.ts";

type Send = ReturnType<typeof asOperator>;

/** @returns The names that a search finds, in the order of the list. */
async function names(send: Send, query: Record<string, string>): Promise<string[]> {
  const { status, body } = await send(`GET /users?${new URLSearchParams(query)}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.users.map(({ name }: { name: string }) => name);
}

async function addUsers(test: TestApp, people: readonly (readonly [name: string, email: string])[]) {
  for (const [n, [name, email]] of people.entries()) {
    await run(
      test,
      "INSERT INTO users (id, email, name, password_hash, created_at) VALUES (?, ?, ?, '', ?)",
      `usr_${String(n).padStart(32, "0")}`,
      email,
      name,
      test.now(),
    );
  }
}

onEveryDatabase("finds users by any part of a name or address, in any case and accent", async (test) => {
  const send = await operatorOf(test, ["users:read"]);
  await addUsers(test, [
    ["Élodie Müller", "elodie@north.example"],
    ["Łukasz ÅNGSTRÖM", "l.a@halden.example"],
    ["田中 さくら", "sakura@north.example"],
    ['100% "Bo_b" \\ OR NEAR', "bob@halden.example"],
  ]);
  const found: Record<string, string[]> = {
    "LODIE": ["Élodie Müller"],
    "élod": ["Élodie Müller"],
    "MUL": ["Élodie Müller"],
    "ångström": ["Łukasz ÅNGSTRÖM"],
    "h.example": ["田中 さくら", "Élodie Müller"],
    " halden ": ['100% "Bo_b" \\ OR NEAR', "Łukasz ÅNGSTRÖM"],
    "田中": ["田中 さくら"],
    "中 さ": ["田中 さくら"],
    "SA": ["田中 さくら"],
    '"bo_b" \\ or': ['100% "Bo_b" \\ OR NEAR'],
    "0%": ['100% "Bo_b" \\ OR NEAR'],
    "_": ['100% "Bo_b" \\ OR NEAR'],
    "O_b": ['100% "Bo_b" \\ OR NEAR'],
    "nobody": [],
    "zq": [],
    [`usr_${"2".padStart(32, "0")}`]: ["田中 さくら"],
    "": ['100% "Bo_b" \\ OR NEAR', "田中 さくら", "Łukasz ÅNGSTRÖM", "Élodie Müller"],
  };
  for (const [search, expected] of Object.entries(found)) {
    assert.deepEqual(await names(send, { search }), expected, search);
  }
  await run(test, "UPDATE users SET name = 'Renée' WHERE email = 'elodie@north.example'");
  await run(test, "UPDATE users SET email = 'x@south.example' WHERE email = 'l.a@halden.example'");
  await run(test, "DELETE FROM users WHERE email = 'bob@halden.example'");
  assert.deepEqual(await names(send, { search: "müller" }), []);
  assert.deepEqual(await names(send, { search: "renee" }), ["Renée"]);
  assert.deepEqual(await names(send, { search: "halden" }), []);
  assert.deepEqual(await names(send, { search: "south" }), ["Łukasz ÅNGSTRÖM"]);
  await test.opened.database.write([{
    sql: "INSERT INTO user_search (user_search, rank) VALUES ('integrity-check', 1)",
    args: [],
  }]);
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

onEveryDatabase("shows a user with their organizations and sessions, and no secrets", async (test) => {
  const send = await operatorOf(test, ["users:read"]);
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
});

onEveryDatabase("disables a user on the very next request, and enables them again", async (test) => {
  const { fullToken, id } = await newOperatorToken(test, ["users:write"]);
  const send = asOperator(test, fullToken);
  const ada = await test.signUp();
  const signedIn = async () =>
    (await (await test.send("/api/auth/me", { cookie: ada.cookie })).json()).authenticated;
  const signIn = async () => {
    const json = { email: ada.email, password: testPassword };
    const response = await test.send("/api/auth/sign-in", { json });
    await response.body?.cancel();
    return response.status;
  };
  assert.equal(await signedIn(), true);
  const disabled = await send(`PATCH /users/${ada.userId}`, { disabled: true });
  assert.equal(disabled.body.user.disabledAt, new Date(test.now()).toISOString());
  assert.equal(await signedIn(), false);
  assert.notEqual(await signIn(), 200);
  assert.equal((await send(`POST /users/${ada.userId}/reset-password`)).body.error.code, "validation_failed");
  assert.equal((await send(`PATCH /users/${ada.userId}`, { disabled: false })).body.user.disabledAt, null);
  assert.equal((await send(`PATCH /users/${ada.userId}`, { disabled: false })).status, 200);
  assert.equal(await signIn(), 200);
  assert.equal((await send(`DELETE /users/${ada.userId}/sessions`)).status, 204);
  assert.equal((await send(`DELETE /users/${ada.userId}/sessions`)).status, 204);
  const rows = await test.opened.database.read({
    sql: `SELECT action, actor_id AS actor, organization_id AS organization, target_name AS target
      FROM audit_events WHERE actor_type = 'operator' ORDER BY id`,
    args: [],
  });
  assert.deepEqual(
    rows,
    ["account.disabled", "account.enabled", "session.all_ended"].map((action) => ({
      action,
      actor: id,
      organization: ada.organizationId,
      target: ada.email,
    })),
  );
});

onEveryDatabase("emails a link to choose a new password, and shows it to no one", async (test) => {
  const send = await operatorOf(test, ["users:write"]);
  const ada = await test.signUp();
  const { status, body } = await send(`POST /users/${ada.userId}/reset-password`);
  assert.deepEqual([status, body], [200, { sentTo: ada.email, link: null }]);
  const mail = (await test.mails()).at(-1);
  assert.equal(mail?.to, ada.email);
  const token = new URL(mail?.link ?? "").searchParams.get("token");
  const reset = await test.send("/api/auth/password/reset", {
    json: { token, password: "seven blue lanterns" },
  });
  assert.equal(reset.status, 204, await reset.text());
});

onEveryDatabase("lets no token change an operator, and no operator disable themselves", async (test) => {
  const send = await operatorOf(test, ["users:read", "users:write"]);
  const [mara, other] = [await newPerson(test, null), await newPerson(test, null)];
  for (const person of [mara, other]) await makeOperator(test, person);
  for (
    const [route, json] of [
      [`PATCH /users/${mara.userId}`, { disabled: true }],
      [`PATCH /users/${mara.userId}`, { disabled: false }],
      [`POST /users/${mara.userId}/reset-password`],
      [`DELETE /users/${mara.userId}/sessions`],
    ] as const
  ) {
    assert.equal((await send(route, json)).body.error.code, "forbidden", route);
  }
  assert.equal((await send(`GET /users/${mara.userId}`)).body.sessions.length, 1);
  const disable = ({ userId }: { userId: string }) =>
    test.send(`/api/operator/users/${userId}`, {
      method: "PATCH",
      cookie: mara.cookie,
      json: { disabled: true },
    });
  await assertError(await disable(mara), 403, "forbidden");
  assert.equal((await disable(other)).status, 200);
});

Deno.test("without a mail server, an operator account gets the link and a token doesn't", async () => {
  const test = await startTestApp({ ...unlimited, BASE_URL: "https://gatehouse.example.com" });
  try {
    const ada = await test.signUp();
    const mara = await test.signUp();
    await makeOperator(test, mara);
    const path = `/api/operator/users/${ada.userId}/reset-password`;
    const { fullToken } = await newOperatorToken(test, ["users:write"]);
    const denied = await test.send(path, { method: "POST", apiKey: fullToken });
    await assertError(denied, 503, "mail_unavailable");
    const response = await test.send(path, { method: "POST", cookie: mara.cookie });
    assert.equal(response.status, 200, await response.clone().text());
    const { sentTo, link } = await response.json();
    assert.equal(sentTo, null);
    assert.match(link.address, /^https:\/\/gatehouse\.example\.com\/reset-password\?token=/);
  } finally {
    await test.dispose();
  }
});
