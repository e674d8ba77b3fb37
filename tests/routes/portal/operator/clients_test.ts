// The console's pages of applications.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { testApp } from "../../../support/app/app.ts";
import { assertRows } from "../../../support/app/rows.ts";
import { addDocument } from "../../../support/oauth/scene.ts";
import { newOperator } from "../../../support/operators/console.ts";

const list = "/operator/clients";
const form = { name: "Gitea <b>", type: "confidential", minRole: "MEMBER", idTokenAlgorithm: "RS256" };
const uri = "https://git.example.com/user/oauth2/gatehouse/callback";

testApp(
  "operators add an application, fill in a recipe, edit it, rotate its secret and delete it",
  async (test) => {
    const mara = await newOperator(test);
    await assertRows(test, mara, [
      [`GET ${list}`, null, 200, { shows: ["No applications yet"] }],
      [`GET ${list}/new`, null, 200, { shows: ['name="consent" value="on" checked'] }],
      [`POST ${list}/new`, { ...form, redirectUriLines: `${uri}\nhttp://git.example.com/` }, 422, {
        shows: [/id="redirectUriLines-error"[^]*Line 2: /, uri],
      }],
      [`POST ${list}/new`, { ...form, redirectUriLines: uri, requirePkce: "on", "scope-openid": "on" }, 201, {
        shows: [/service_client_[0-9A-Za-z]{38}/, "<bdi>Gitea &lt;b&gt;</bdi>"],
      }],
    ]);
    const stored = () =>
      test.opened.database.readFirst<
        { id: string; hash: string; scopes: string; consent: number; disabledAt: number }
      >(sql`
      SELECT id, secret_hash AS hash, scopes, consent, disabled_at AS disabledAt FROM oauth_clients`);
    const before = await stored();
    const one = `${list}/${before?.id}`;
    assert.deepEqual([before?.scopes, before?.consent], ['["openid"]', 0]);
    await assertRows(test, mara, [
      [`GET ${list}`, null, 200, { shows: ["<bdi>Gitea &lt;b&gt;</bdi>", "Everyone"] }],
      // Its own recipe is shown first.
      [`GET ${one}`, null, 200, {
        shows: [
          "--auto-discover-url http://localhost:8000/.well-known/openid-configuration",
          before?.id ?? "",
          uri,
        ],
        hides: ["service_client_", "generic_oauth"],
      }],
      [`GET ${one}?recipe=oauth2-proxy`, null, 200, {
        shows: ["https://git.example.com/oauth2/callback", "It isn&#39;t registered here yet"],
        hides: ["--auto-discover-url"],
      }],
      [`GET ${one}?recipe=nothing`, null, 200, { shows: ["--auto-discover-url"] }],
      [`GET ${one}/edit`, null, 200, {
        shows: ['name="scope-openid" value="on" checked'],
        hides: ['name="type"'],
      }],
      [
        `POST ${one}/edit`,
        { ...form, name: "Code", redirectUriLines: uri, consent: "on", requirePkce: "on" },
        `303 ${one}?done=saved`,
      ],
      [`GET ${list}`, null, 200, { shows: ["Disabled"] }],
      [`POST ${one}/rotate`, {}, 201, { shows: [/service_client_[0-9A-Za-z]{38}/] }],
    ]);
    const after = await stored();
    assert.deepEqual([after?.consent, after?.disabledAt], [1, test.now()]);
    assert.notEqual(after?.hash, before?.hash);
    await assertRows(test, mara, [
      [`POST ${one}/delete`, {}, `303 ${list}?done=deleted`],
      [`GET ${one}`, null, 404],
    ]);
    assert.equal(await stored(), undefined);
  },
  { SECRETS_KEY: btoa("7".repeat(32)) },
);

testApp("operators see applications that publish their own settings, and end their access", async (test) => {
  const mara = await newOperator(test);
  const id = await addDocument(test, "Tools <b>");
  const count = "SELECT count(*) AS n FROM oauth_clients";
  await assertRows(test, mara, [
    [`GET ${list}`, null, 200, { shows: ["No applications yet"], hides: ["Tools"] }],
    [`GET ${list}/documents`, null, 200, { shows: ["app.example.com", "Tools &lt;b&gt;", `${id}.json`] }],
    [`GET ${list}/documents/${id}/end`, null, 200, { shows: ["Tools &lt;b&gt;"] }],
    [`POST ${list}/documents/${id}/end`, {}, `303 ${list}/documents?done=ended`],
    [`GET ${list}/documents?done=ended`, null, 200, { shows: ["Access ended"], hides: ["Tools"] }],
    [`POST ${list}/documents/${id}/end`, {}, 404],
  ]);
  assert.equal((await test.opened.database.readFirst<{ n: number }>({ sql: count, args: [] }))?.n, 0);
});
