// The console's pages of sign-in providers.
import assert from "node:assert/strict";
import { Secrets } from "../../../../services/secrets.ts";
import { sql } from "../../../../db/engine/database.ts";
import { testApp } from "../../../support/app/app.ts";
import { startDiscovery } from "../../../support/network/discovery.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { run } from "../../../support/people/scene.ts";
import { openPage } from "../../../support/portal/pages.ts";

const list = "/operator/identity-providers";
const secret = "canary-of-a-client-secret";

testApp(
  "operators add a provider, edit it without its secret, and see who is connected before they delete it",
  async (test) => {
    await using discovery = startDiscovery();
    const mara = await newOperator(test);
    const page = async (path: string, form?: Record<string, string>) => {
      const opened = await openPage(
        test,
        path,
        form === undefined ? { person: mara } : { person: mara, form },
      );
      assert.ok(!opened.html.includes(secret), path);
      return opened;
    };
    const { issuer } = discovery;
    const stored = () =>
      test.opened.database.readFirst<
        { id: string; name: string; secret: string; signUp: number; trust: number }
      >(
        sql`SELECT id, name, client_secret AS secret, sign_up AS signUp, trust_email AS trust FROM identity_providers
        WHERE slug = 'okta'`,
      );
    assert.match((await page(list)).html, /No providers yet/);
    assert.match((await page(`${list}/new`)).html, /\/sign-in\/with\/SLUG\/callback/);
    const form = {
      name: "Okta <b>",
      slug: "okta",
      kind: "oidc",
      issuer,
      clientId: "a",
      clientSecret: secret,
    };
    const rejected = await page(`${list}/new`, {
      ...form,
      issuer: `${issuer}/x`,
      slug: "Okta",
      trustEmail: "on",
    });
    assert.equal(rejected.status, 422);
    assert.match(rejected.html, /id="slug-error"/);
    assert.match(rejected.html, /name="trustEmail" value="on" checked/);
    const unusable = await page(`${list}/new`, { ...form, issuer: `${issuer}/x` });
    assert.match(unusable.html, /id="issuer-error"[^]*returns the status 404/);
    assert.equal((await page(`${list}/new`, { ...form, signUp: "on" })).location, `${list}?done=added`);
    const { html } = await page(`${list}?done=added`);
    assert.match(html, /Register its redirect URI/);
    assert.match(html, /http:\/\/localhost:8000\/sign-in\/with\/okta\/callback/);
    assert.match(html, /<bdi>Okta &lt;b&gt;<\/bdi>/);

    // An empty secret stays, and the slug can't be changed.
    const edit = `${list}/${(await stored())?.id}/edit`;
    assert.match((await page(edit)).html, /name="slug" value="okta"[^>]* readonly/);
    const changed = await page(edit, {
      ...{ name: "Work", slug: "new", issuer, clientId: "b", clientSecret: "", position: "1" },
      trustEmail: "on",
    });
    assert.equal(changed.location, `${list}?done=saved`);
    const row = await stored();
    assert.deepEqual([row?.name, row?.signUp, row?.trust], ["Work", 0, 1]);
    assert.equal(new Secrets([]).open(row?.id ?? "", row?.secret ?? ""), secret);
    assert.match((await page(list)).html, /All trusted/);

    // Two accounts, of which one has no password.
    for (const [name, hasPassword] of [["Ada", 1], ["Ben", 0]] as const) {
      const { userId } = await test.signUp(name);
      await run(test, "UPDATE users SET has_password = ? WHERE id = ?", hasPassword, userId);
      for (const subject of [1, 2]) {
        await run(
          test,
          "INSERT INTO identities (id, user_id, issuer, subject, created_at) VALUES (?, ?, ?, ?, 0)",
          ...[`${name}${subject}`, userId, issuer, `${name}${subject}`],
        );
      }
    }
    const remove = `${list}/${row?.id}/delete`;
    const text = (await page(remove)).html.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ");
    assert.match(text, /Accounts that sign in with it 2 Of these, without a password 1 /);
    assert.equal((await page(remove, {})).location, `${list}?done=deleted`);
    assert.equal(await stored(), undefined);
    assert.equal((await page(remove)).status, 404);
  },
);
