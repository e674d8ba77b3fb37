// Clients whose id is the URL of a metadata document: what they can do, and for how long.
import assert from "node:assert/strict";
import { sendLogouts } from "../../../services/oauth/backchannel_logout.ts";
import { endUnlistedClients } from "../../../services/oauth/mod.ts";
import {
  addressOf,
  exchange,
  minuteMs,
  newPerson,
  open,
  refresh,
  signIn,
  withPublisher,
} from "../../support/oauth/documents.ts";
import {
  addClient,
  addDocument,
  addResource,
  answerOf,
  consentForm,
  consentTo,
  post,
  userinfo,
} from "../../support/oauth/scene.ts";
import { testApp } from "../../support/app/app.ts";
import { startRawServer } from "../../support/network/raw_server.ts";

withPublisher(
  "signs people in to an application with a document, and treats it as any other",
  async (publisher) => {
    const { test, host, asked } = publisher;
    const person = await newPerson(publisher);
    const id = publisher.document("/client.json");
    const { html } = await consentForm(test, person, addressOf(id));
    assert.ok(html.includes(host) && html.includes("app.example.com") && html.includes("Tools"), html);
    const tokens = await signIn(publisher, id, person);
    assert.equal((await userinfo(test, tokens.access_token)).body.sub, person.userId);
    const refreshed = await refresh(publisher, id, tokens.refresh_token);
    assert.equal(refreshed.status, 200);
    assert.notEqual((await answerOf(test, person, addressOf(id))).get("code"), null);
    assert.deepEqual(asked, ["/client.json"]);
    // Its person sees and ends its access.
    const path = "/portal/account/applications";
    const list = await (await test.send(path, { cookie: person.cookie })).text();
    assert.ok(list.includes(host), list);
    const [remove = ""] = /\/portal\/account\/applications\/doc_\w+\/remove/.exec(list) ?? [];
    const removed = await test.send(remove, { form: {}, cookie: person.cookie });
    assert.equal(removed.status, 303, await removed.text());
    assert.equal((await userinfo(test, tokens.access_token)).status, 401);
    assert.equal((await refresh(publisher, id, refreshed.body.refresh_token)).body.error, "invalid_grant");
  },
);

withPublisher(
  "gives tokens of resources that are open to all clients, which the resource introspects",
  async (publisher) => {
    const { test } = publisher;
    const person = await newPerson(publisher);
    const resource = await addResource(test);
    const id = publisher.document("/client.json");
    const address = addressOf(id, { scope: "tools:call", resource: "https://mcp.example.com" });
    const code = (await consentTo(test, person, address)).get("code") ?? "";
    const { body } = await exchange(publisher, id, code, { resource: "https://mcp.example.com" });
    const found = await post(test, "/oauth/introspect", { token: body.access_token }, {
      id: resource,
      secret: resource,
    });
    assert.deepEqual([found.body.active, found.body.client_id, found.body.scope], [true, id, "tools:call"]);
    assert.equal(
      (await post(test, "/oauth/revoke", { client_id: id, token: body.access_token })).status,
      200,
    );
    assert.equal(
      (await post(test, "/oauth/introspect", { token: body.access_token }, {
        id: resource,
        secret: resource,
      }))
        .body.active,
      false,
    );
  },
);

withPublisher(
  "keeps a document for as long as its headers say, from a minute to a day",
  async (publisher) => {
    const { test, asked } = publisher;
    const person = await newPerson(publisher);
    const id = publisher.document("/client.json");
    const valid = publisher.publish;
    const visit = () => open(publisher, person.cookie, addressOf(id));
    const cases: [string, number][] = [["no-store", 1], ["max-age=7200", 120], [
      "max-age=999999999",
      24 * 60,
    ]];
    for (const [control, minutes] of cases) {
      publisher.publish = async (path) => {
        const response = await valid(path);
        response.headers.set("cache-control", control);
        return response;
      };
      test.advance(25 * 60 * minuteMs);
      asked.length = 0;
      await visit();
      test.advance(minutes * minuteMs - 1);
      await visit();
      assert.equal(asked.length, 1, control);
      test.advance(1);
      await visit();
      assert.equal(asked.length, 2, control);
    }
  },
);

withPublisher("ends access when its host is taken off the list", async (publisher) => {
  const { test } = publisher;
  const person = await newPerson(publisher);
  const id = publisher.document("/client.json");
  const tokens = await signIn(publisher, id, person);
  await endUnlistedClients(test.services);
  assert.equal((await userinfo(test, tokens.access_token)).status, 200);
  await endUnlistedClients({ ...test.services, config: { ...test.config, oauthClientHosts: ["b.example"] } });
  assert.equal((await userinfo(test, tokens.access_token)).status, 401);
  assert.equal((await refresh(publisher, id, tokens.refresh_token)).body.error, "invalid_client");
});

withPublisher("never connects devices, and warns of programs on the device", async (publisher) => {
  const { test } = publisher;
  const person = await newPerson(publisher);
  const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
  const id = publisher.document("/client.json", {
    redirect_uris: ["http://localhost/callback"],
    grant_types: ["authorization_code", deviceGrant],
    logo_uri: `https://${publisher.host}/logo.png`,
  });
  const address = addressOf(id, { redirect_uri: "http://localhost:4711/callback" });
  const { html } = await consentForm(test, person, address);
  const text = html.replaceAll(/<[^>]+>/g, "").replaceAll(/\s+/g, " ");
  const sentence =
    `A program on this device at localhost:4711, which calls itself ${publisher.host}, gets the following`;
  assert.ok(text.includes(sentence), text);
  assert.deepEqual(publisher.asked, ["/client.json"]);
  const { body } = await post(test, "/oauth/device", { client_id: id, scope: "openid" });
  assert.equal(body.error, "unauthorized_client");
  // Asked each time.
  await consentTo(test, person, address);
  assert.equal((await open(publisher, person.cookie, address)).status, 200);
});

withPublisher("announces documents only if hosts are listed", async ({ test }) => {
  const document = await (await test.send("/.well-known/oauth-authorization-server")).json();
  assert.equal(document.client_id_metadata_document_supported, true);
  assert.ok(document.token_endpoint_auth_methods_supported.includes("private_key_jwt"));
});

testApp("sends logout tokens to published addresses only if the guard allows them", async (test) => {
  await using canary = startRawServer(async (connection) => {
    await connection.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
    connection.close();
  });
  const published = await addDocument(test);
  const registered = await addClient(test);
  const ids = [`https://app.example.com/${published}.json`, registered.id];
  await test.opened.database.write([
    {
      sql: "UPDATE oauth_clients SET backchannel_logout_uri = ?",
      args: [`http://127.0.0.1:${canary.port}/`],
    },
    ...ids.map((id) => ({
      sql: "INSERT INTO oauth_logouts (client_id, user_id, session_id) VALUES (?, 'usr_1', 'ses_1')",
      args: [id],
    })),
  ]);
  await sendLogouts(test.services);
  assert.equal(canary.connections(), 1);
});
