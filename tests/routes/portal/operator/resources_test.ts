// The console's pages of resources, and the default resource in an application's form.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { testApp } from "../../../support/app/app.ts";
import { assertRows } from "../../../support/app/rows.ts";
import { addClient } from "../../../support/oauth/scene.ts";
import { newOperator } from "../../../support/operators/console.ts";

const list = "/operator/resources";
const uri = "https://mcp.example.com/mcp";
const form = {
  name: "Tools <b>",
  uri,
  scopeLines: "tools:call\ntools:list",
  tokenFormat: "opaque",
  admits: "all",
};
const secretForm = /service_client_[0-9A-Za-z]{38}/;

testApp(
  "operators add a resource, restrict it, rotate its secret and delete it, and applications have it as default",
  async (test) => {
    const mara = await newOperator(test);
    const [grafana, gitea] = [await addClient(test), await addClient(test, { name: "Gitea" })];
    const stored = () =>
      test.opened.database.readFirst<{ id: string; hash: string; clients: string | null; scopes: string }>(
        sql`SELECT id, secret_hash AS hash, clients, scopes FROM oauth_resources`,
      );
    const defaultOf = async (id: string) =>
      (await test.opened.database.readFirst<{ id: string | null }>(
        sql`SELECT default_resource AS id FROM oauth_clients WHERE id = ${id}`,
      ))?.id;
    await assertRows(test, mara, [
      ["GET /operator/clients", null, 200, { shows: [`href="${list}"`] }],
      [`GET ${list}`, null, 200, { shows: ["No resources yet"] }],
      [`GET ${list}/new`, null, 200, { shows: ["<bdi>Grafana</bdi>", 'value="opaque" checked'] }],
      [`POST ${list}/new`, { ...form, uri: "mcp" }, 422, { shows: [/id="uri-error"/, "tools:list"] }],
      [`POST ${list}/new`, { ...form, scopeLines: "openid" }, 422, { shows: [/id="scopeLines-error"/] }],
      [`POST ${list}/new`, form, 201, { shows: [secretForm, "<bdi>Tools &lt;b&gt;</bdi>", uri] }],
      [`POST ${list}/new`, form, 409, { shows: ["Another resource has this URI."] }],
    ]);
    const before = await stored();
    assert.deepEqual([before?.clients, before?.scopes], [null, '["tools:call","tools:list"]']);
    const one = `${list}/${before?.id}`;
    const ofClient = (id: string) => `/operator/clients/${id}/edit`;
    const client = {
      name: "Grafana",
      minRole: "MEMBER",
      idTokenAlgorithm: "RS256",
      redirectUriLines: "https://grafana.example.com/callback",
      requirePkce: "on",
      enabled: "on",
      defaultResource: before?.id ?? "",
    };
    await assertRows(test, mara, [
      [`GET ${list}`, null, 200, { shows: ["<bdi>Tools &lt;b&gt;</bdi>", uri, "Opaque"] }],
      [`GET ${one}`, null, 200, {
        shows: [before?.id ?? "", "/oauth/introspect", "requireToken"],
        hides: [secretForm],
      }],
      [`GET ${ofClient(grafana.id)}`, null, 200, { shows: [`<option value="${before?.id}"`] }],
      [`POST ${ofClient(grafana.id)}`, client, `303 /operator/clients/${grafana.id}?done=saved`],
      [`GET ${ofClient(grafana.id)}`, null, 200, { shows: [`<option value="${before?.id}" selected`] }],
    ]);
    assert.equal(await defaultOf(grafana.id), before?.id);
    // Other applications lose it as their default.
    const restricted = { ...form, tokenFormat: "jwt", admits: "chosen", [gitea.id]: "on" };
    await assertRows(test, mara, [
      [`POST ${one}/edit`, restricted, `303 ${one}?done=saved`],
      [`GET ${one}/edit`, null, 200, {
        shows: [`name="${gitea.id}" value="on" checked`, 'value="jwt" checked'],
      }],
      [`GET ${one}`, null, 200, { shows: ["1 application", "Each works for 5 minutes"] }],
      [`GET ${ofClient(grafana.id)}`, null, 200, { hides: [before?.id ?? ""] }],
      [`POST ${ofClient(grafana.id)}`, client, 422, { shows: [/id="defaultResource-error"/] }],
    ]);
    assert.equal((await stored())?.clients, JSON.stringify([gitea.id]));
    assert.equal(await defaultOf(grafana.id), null);
    await assertRows(test, mara, [
      [`POST ${ofClient(gitea.id)}`, client, `303 /operator/clients/${gitea.id}?done=saved`],
      [`POST ${one}/rotate`, {}, 201, { shows: [secretForm] }],
    ]);
    assert.notEqual((await stored())?.hash, before?.hash);
    assert.equal(await defaultOf(gitea.id), before?.id);
    await assertRows(test, mara, [
      [`POST ${one}/delete`, {}, `303 ${list}?done=deleted`],
      [`GET ${one}`, null, 404],
    ]);
    assert.equal(await stored(), undefined);
    assert.equal(await defaultOf(gitea.id), null);
  },
);
