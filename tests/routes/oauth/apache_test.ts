// Debian's modules in a real Apache: mod_auth_openidc signs people in with the console's recipe, and mod_oauth2 checks tokens.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { oauthWork } from "../../../services/oauth/mod.ts";
import { fillRecipe, recipes } from "../../../views/oauth/recipes.ts";
import type { TestApp } from "../../support/app/app.ts";
import { withOwnAddress } from "../../support/app/real_app.ts";
import { freePort } from "../../support/database/sqld.ts";
import { newVisitor } from "../../support/identity_providers/visitor.ts";
import { withApache } from "../../support/oauth/apache.ts";
import { issue, newClient, newResource } from "../../support/oauth/issued.ts";
import { passPages } from "../../support/oauth/pages.ts";
import { addClient, confirmed } from "../../support/oauth/scene.ts";
import { isMissing } from "../../support/runner/needs.ts";

const ignore = isMissing("apache2", "libapache2-mod-auth-openidc", "libapache2-mod-oauth2");
const settings = { SECRETS_KEY: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=" };

/** A site that Apache protects with the console's recipe, and its client. */
async function recipeSite(test: TestApp) {
  const port = freePort();
  const site = `http://127.0.0.1:${port}`;
  const client = await addClient(test, {
    name: "Apache",
    redirectUris: [`${site}/redirect-uri`],
    postLogoutRedirectUris: [`${site}/bye`],
    backchannelLogoutUri: `${site}/redirect-uri?logout=backchannel`,
  });
  const recipe = recipes["apache"];
  assert.ok(recipe);
  const https = "https://apache.example.com";
  const { code } = fillRecipe(recipe, {
    issuer: test.config.baseUrl.origin,
    id: client.id,
    redirectUris: [`${https}/redirect-uri`],
  });
  const lines = code.replaceAll(https, site).replace("CLIENT_SECRET", client.secret)
    .replace("RANDOM_PASSPHRASE", randomUUID()).split("\n");
  return { port, site, client, lines };
}

Deno.test({
  name:
    "mod_auth_openidc signs people in with the console's recipe, passes on their claims, and signs them out",
  ignore,
  fn: () =>
    withOwnAddress(async (test) => {
      const person = await confirmed(test, await test.signUp("Ada Lovelace"));
      const { port, site, lines } = await recipeSite(test);
      await withApache(port, lines, async ({ application: { received } }) => {
        const browser = newVisitor(test);
        const visit = (path: string, stopAt?: string) => {
          const options = { test, email: person.email, from: site, site };
          return passPages(browser, site + path, stopAt === undefined ? options : { ...options, stopAt });
        };
        const first = await visit("/reports?year=2026");
        assert.deepEqual(first.asked, ["/sign-in", "/authorize/decision"]);
        const { headers, path } = received.at(-1) ?? assert.fail("nothing was passed on");
        assert.equal(path, "/reports?year=2026");
        assert.deepEqual(
          ["email", "sub", "name", "groups"].map((name) => headers[`oidc_claim_${name}`]),
          [
            person.email,
            person.userId,
            "Ada Lovelace",
            `${person.organizationId},${person.organizationId}:OWNER`,
          ],
        );
        assert.deepEqual((await visit("/")).asked, [], "the site has a session");

        const count = received.length;
        const left = await visit(`/redirect-uri?logout=${encodeURIComponent(`${site}/bye`)}`, "/sign-in");
        assert.equal(left.page.url.pathname, "/sign-in", "neither has a session");
        assert.equal(received.length, count);

        await visit("/again");
        assert.equal(received.at(-1)?.path, "/again");
        await browser.open("/sign-out", { form: {} });
        await oauthWork(test.services)[0]?.step();
        const ended = await visit("/secret", "/sign-in");
        assert.equal(ended.page.url.pathname, "/sign-in", "the logout token ended the session of the site");
        assert.equal(received.at(-1)?.path, "/again");
      });
    }, settings),
});

Deno.test({
  name: "mod_oauth2 introspects tokens of a resource, and rejects them on the next request after a sign-out",
  ignore,
  fn: () =>
    withOwnAddress(async (test) => {
      const port = freePort();
      const site = `http://127.0.0.1:${port}`;
      const own = test.config.baseUrl.origin;
      const { resource, secret } = await newResource(test, { uri: site });
      const person = await confirmed(test, await test.signUp());
      const client = await newClient(test);
      const { access_token: token } = await issue(test, {
        person,
        client,
        resource: site,
        scope: "tools:call",
      });
      const lists = { person, client, resource: site, scope: "tools:list" };
      const { access_token: narrow } = await issue(test, lists);
      const { access_token: foreign } = await issue(test, { person, client });
      const credentials = `client_id=${resource.id}&client_secret=${secret}`;
      const lines = [
        "LoadModule oauth2_module /usr/lib/apache2/modules/mod_oauth2.so",
        `OAuth2TokenVerify introspect ${own}/oauth/introspect introspect.auth=client_secret_basic&${credentials}&expiry=0`,
        "<Location />",
        "  AuthType oauth2",
        "  OAuth2TargetPass prefix=OAUTH2_CLAIM_",
        "  Require oauth2_claim scope:tools:call",
        "</Location>",
      ];
      await withApache(port, lines, async ({ application: { received } }) => {
        const ask = async (bearer: string) => {
          const response = await fetch(`${site}/tool`, { headers: { authorization: `Bearer ${bearer}` } });
          await response.body?.cancel();
          return response.status;
        };
        assert.equal(await ask(token), 200);
        assert.equal(received.at(-1)?.headers["oauth2_claim_sub"], person.userId);
        assert.notEqual(await ask(narrow), 200, "a token with another scope");
        assert.equal(await ask(foreign), 401, "a token for userinfo");
        assert.equal(await ask(`${token.slice(0, -1)}x`), 401);
        await test.send("/api/auth/sign-out", { method: "POST", cookie: person.cookie });
        assert.equal(await ask(token), 401);
        assert.equal(received.length, 1);
      });
    }, settings),
});
