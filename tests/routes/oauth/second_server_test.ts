// Another Gatehouse as a relying party: people of one server sign in to the other with "Sign in with a provider".
import assert from "node:assert/strict";
import { startTestApp } from "../../support/app/app.ts";
import { withOwnAddress } from "../../support/app/real_app.ts";
import { userOf } from "../../support/identity_providers/own_visits.ts";
import { addProvider } from "../../support/identity_providers/providers.ts";
import { newVisitor } from "../../support/identity_providers/visitor.ts";
import { passPages } from "../../support/oauth/pages.ts";
import { addClient, confirmed, rotateSigningKeys } from "../../support/oauth/scene.ts";

Deno.test("another Gatehouse signs people in with this one, and knows them again after its keys rotated", () =>
  withOwnAddress(async (provider) => {
    const BASE_URL = "http://127.0.0.1:8000";
    const other = await startTestApp({
      BASE_URL,
      SECRETS_KEY: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
    });
    other.advance(Date.now() - other.now());
    try {
      const person = await confirmed(provider, await provider.signUp("Ada Lovelace"));
      const { id: clientId, secret: clientSecret } = await addClient(provider, {
        redirectUris: [`${BASE_URL}/sign-in/with/peer/callback`],
      });
      const peer = { url: provider.config.baseUrl.origin, clientId, clientSecret };
      await addProvider(other, peer, { name: "Head office" });
      const signIn = async () => {
        const browser = newVisitor(other);
        const page = await browser.open("/sign-in/with/peer", {
          headers: { "sec-fetch-site": "same-origin" },
          stopAt: ({ origin }) => origin !== BASE_URL,
        });
        const options = { test: provider, email: person.email, from: BASE_URL, site: BASE_URL };
        const { asked } = await passPages(browser, page.location ?? "", options);
        return { asked, user: await userOf(other, browser) };
      };
      const first = await signIn();
      assert.deepEqual(first.asked, ["/sign-in", "/authorize/decision"]);
      assert.deepEqual([first.user?.email, first.user?.name], [person.email, "Ada Lovelace"]);
      await rotateSigningKeys(provider);
      other.advance(provider.now() - other.now());
      assert.equal((await signIn()).user?.id, first.user?.id);
    } finally {
      await other.dispose();
    }
  }));
