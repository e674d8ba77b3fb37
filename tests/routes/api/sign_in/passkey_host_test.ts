// Passkeys after BASE_URL got another host: they are marked, and don't count as a way to sign in.
import assert from "node:assert/strict";
import { passkeyResults } from "../../../../commands/check/passkeys.ts";
import { sql } from "../../../../db/engine/database.ts";
import { countPasskeysElsewhere } from "../../../../db/people/passkeys.ts";
import { testApp } from "../../../support/app/app.ts";
import { assertRows } from "../../../support/app/rows.ts";
import { reauthenticate } from "../../../support/people/people.ts";
import { addPasskey, signInOptions } from "../../../support/people/second_step.ts";

const found = async (database: Parameters<typeof countPasskeysElsewhere>[0]) =>
  passkeyResults(await countPasskeysElsewhere(database, "localhost")).map(({ verdict, saw }) =>
    `${verdict}: ${saw}`
  );

testApp("passkeys of another host are marked, and count for nothing", async (test) => {
  const { database } = test.opened;
  const person = await test.signUp();
  const { passkey } = await addPasskey(test, person.cookie);
  const hosts = () => database.read<{ host: string | null }>(sql`SELECT host FROM passkeys`);
  assert.deepEqual(await hosts(), [{ host: "localhost" }]);
  // An older passkey works here once it was used here.
  await database.write([sql`UPDATE passkeys SET host = NULL`]);
  const list = "/api/portal/account/passkeys";
  await assertRows(test, person, [[`GET ${list}`, null, 200, { shows: ['"otherHost":null'] }]]);
  const response = await test.send("/api/auth/sign-in/passkey", {
    json: { response: passkey.signIn(await signInOptions(test)) },
  });
  assert.equal(response.status, 200, await response.clone().text());
  assert.deepEqual([await hosts(), await found(database)], [[{ host: "localhost" }], []]);

  await database.write([sql`UPDATE passkeys SET host = 'old.example.com'`]);
  test.advance(11 * 60_000);
  await assertRows(test, person, [
    [`GET ${list}`, null, 200, { shows: ['"otherHost":"old.example.com"'] }],
    ["GET /portal/account/passkeys", null, 200, { shows: ["Only for old.example.com"] }],
    ["GET /portal/confirm-password?return_to=/portal/account/delete", null, 200, {
      hides: ["data-passkey="],
    }],
    ["POST /api/portal/account/proof/passkey/options", null, "409 two_step_state"],
  ]);
  assert.deepEqual(await found(database), [
    "warning: 1 passkey can only be used at old.example.com, which isn't the host of BASE_URL.",
  ]);
  // Of two passkeys without a password, the one that works must stay.
  await reauthenticate(test, person.cookie);
  await addPasskey(test, person.cookie);
  await database.write([sql`UPDATE users SET has_password = 0 WHERE id = ${person.userId}`]);
  const [old, own] = await database.read<{ id: string }>(sql`SELECT id FROM passkeys ORDER BY host DESC`);
  await assertRows(test, person, [
    [`DELETE ${list}/${own?.id}`, null, "409 last_sign_in_method"],
    [`DELETE ${list}/${old?.id}`, null, 204],
  ]);
});
