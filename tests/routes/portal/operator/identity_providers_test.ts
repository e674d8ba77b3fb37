// The console's pages of sign-in providers.
import assert from "node:assert/strict";
import { Secrets } from "../../../../services/secrets.ts";
import { sql } from "../../../../db/engine/database.ts";
import { testApp } from "../../../support/app/app.ts";
import { assertRows } from "../../../support/app/rows.ts";
import { startDiscovery } from "../../../support/network/discovery.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { run } from "../../../support/people/scene.ts";

const list = "/operator/identity-providers";
const secret = "canary-of-a-client-secret";

testApp(
  "operators add a provider, edit it without its secret, and see who is connected before they delete it",
  async (test) => {
    await using discovery = startDiscovery();
    const mara = await newOperator(test);
    const { issuer } = discovery;
    const hides = [secret];
    const form = {
      name: "Okta <b>",
      slug: "okta",
      kind: "oidc",
      issuer,
      clientId: "a",
      clientSecret: secret,
    };
    const add = `POST ${list}/new`;
    await assertRows(test, mara, [
      [`GET ${list}`, null, 200, { shows: ["No providers yet"] }],
      [`GET ${list}/new`, null, 200, { shows: ["/sign-in/with/SLUG/callback"] }],
      [add, { ...form, issuer: `${issuer}/x`, slug: "Okta", trustEmail: "on" }, 422, {
        shows: ['id="slug-error"', 'name="trustEmail" value="on" checked'],
        hides,
      }],
      [add, { ...form, issuer: `${issuer}/x` }, 422, {
        shows: [/id="issuer-error"[^]*returns the status 404/],
        hides,
      }],
      [add, { ...form, signUp: "on" }, `303 ${list}?done=added`],
      [`GET ${list}?done=added`, null, 200, {
        shows: [
          "Register its redirect URI",
          "http://localhost:8000/sign-in/with/okta/callback",
          "<bdi>Okta &lt;b&gt;</bdi>",
        ],
        hides,
      }],
    ]);

    // An empty secret stays, and the slug can't be changed.
    const stored = () =>
      test.opened.database.readFirst<
        { id: string; name: string; secret: string; signUp: number; trust: number }
      >(
        sql`SELECT id, name, client_secret AS secret, sign_up AS signUp, trust_email AS trust FROM identity_providers
        WHERE slug = 'okta'`,
      );
    const one = `${list}/${(await stored())?.id}`;
    const change = { name: "Work", slug: "new", issuer, clientId: "b", clientSecret: "", position: "1" };
    await assertRows(test, mara, [
      [`GET ${one}/edit`, null, 200, { shows: [/name="slug" value="okta"[^>]* readonly/], hides }],
      [`POST ${one}/edit`, { ...change, trustEmail: "on" }, `303 ${list}?done=saved`],
      [`GET ${list}`, null, 200, { shows: ["All trusted"], hides }],
    ]);
    const row = await stored();
    assert.deepEqual([row?.name, row?.signUp, row?.trust], ["Work", 0, 1]);
    assert.equal(new Secrets([]).open(row?.id ?? "", row?.secret ?? ""), secret);

    // Two accounts, of which one has no password.
    const connect =
      "INSERT INTO identities (id, user_id, issuer, subject, created_at) VALUES (?, ?, ?, ?, 0)";
    for (const [name, hasPassword] of [["Ada", 1], ["Ben", 0]] as const) {
      const { userId } = await test.signUp(name);
      await run(test, "UPDATE users SET has_password = ? WHERE id = ?", hasPassword, userId);
      for (const id of [`${name}1`, `${name}2`]) await run(test, connect, id, userId, issuer, id);
    }
    await assertRows(test, mara, [
      [`GET ${one}/delete`, null, 200, {
        shows: [
          /Accounts that sign in with it(<[^>]+>|\s)*2<[^]*Of these, without a password(<[^>]+>|\s)*1</,
        ],
      }],
      [`POST ${one}/delete`, {}, `303 ${list}?done=deleted`],
      [`GET ${one}/delete`, null, 404],
    ]);
    assert.equal(await stored(), undefined);
  },
);
