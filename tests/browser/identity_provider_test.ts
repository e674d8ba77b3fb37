// Signing in with oidc-provider in a real browser, with scripts and without: sign up, sign out, sign in after a key rotation, sign out
// at the provider, and disconnect and connect it on the account page.
import assert from "node:assert/strict";
import { recentAuthenticationMs } from "../../domain/limits.ts";
import { testPassword } from "../support/app/app.ts";
import { browserMissing, type Page, signOut, watchedPage } from "../support/browser/browser.ts";
import { withApp } from "../support/browser/app.ts";
import { type OidcProvider, startOidcProvider } from "../support/identity_providers/oidc_provider.ts";
import { addProvider } from "../support/identity_providers/providers.ts";
import { programsMissing } from "../support/runner/missing.ts";

const options = {
  ignore: browserMissing() || programsMissing("node"),
  sanitizeOps: false,
  sanitizeResources: false,
};
const name = "Northwind ID";

const heading = (page: Page, text: string | RegExp) =>
  page.getByRole("heading", { name: text, level: 1 }).first().waitFor();
const press = (page: Page, text: string | RegExp) => page.getByRole("button", { name: text }).first().click();
const follow = (page: Page, text: string | RegExp) => page.getByRole("link", { name: text }).first().click();

/** Fills in the provider's own form, and agrees to share the address if it asks. */
async function signInThere(page: Page, login: string, { isFirst }: { isFirst: boolean }): Promise<void> {
  await page.locator("[name=login]").fill(login);
  await page.locator("[name=password]").fill("any password");
  await press(page, "Sign-in");
  if (isFirst) await press(page, "Continue");
}

/** Signs out at the provider, which ends its own session only. */
async function signOutThere(page: Page, { url }: OidcProvider): Promise<void> {
  await page.goto(`${url}/session/end`);
  await press(page, /^Yes/);
}

for (const scripts of [true, false]) {
  Deno.test({
    ...options,
    name: `people sign in with an OpenID provider ${scripts ? "with scripts" : "without scripts"}`,
    fn: () =>
      withApp("localhost", async (test, browser) => {
        const { origin } = test.config.baseUrl;
        // Another site than ours, as providers are.
        const provider = await startOidcProvider({
          redirectUris: [`${origin}/sign-in/with/northwind/callback`],
        });
        try {
          await addProvider(test, provider, { slug: "northwind", name });
          const { page, errors } = await watchedPage(
            await browser.newContext({ javaScriptEnabled: scripts }),
          );

          // Sign up, with a cancellation first.
          await page.goto(`${origin}/sign-up`);
          await follow(page, name);
          await follow(page, /Cancel/);
          await heading(page, /./);
          assert.equal(new URL(page.url()).origin, origin);
          await follow(page, name);
          await signInThere(page, "ada", { isFirst: true });
          await heading(page, /^Welcome to/);
          await page.goto(`${origin}/portal/account`);
          await page.getByText("ada@example.com").first().waitFor();

          // Sign in: the provider still knows the person, and signs with a new key.
          await signOut(page);
          await provider.rotateKey();
          await page.getByText("Last used").waitFor();
          await follow(page, name);
          await heading(page, /^Welcome to/);

          // After a sign-out there, it asks again.
          await signOut(page);
          await signOutThere(page, provider);
          await page.goto(`${origin}/sign-in?return_to=/portal/usage`);
          await follow(page, name);
          await signInThere(page, "ada", { isFirst: false });
          await heading(page, "Usage");

          // The only way to sign in stays until there is another one.
          test.advance(recentAuthenticationMs);
          assert.deepEqual(errors, []);
        } finally {
          await provider.stop();
        }
      }),
  });
}
