// Signing in with oidc-provider in a real browser, with scripts and without: sign up, sign out, sign in after a key rotation, sign out
// at the provider, and disconnect and connect it on the account page.
import assert from "node:assert/strict";
import { recentAuthenticationMs, totpPeriodMs } from "../../domain/limits.ts";
import { type TestApp, testPassword } from "../support/app/app.ts";
import { follow, heading, type Page, press, signOut } from "../support/browser/browser.ts";
import { browserTests } from "../support/browser/app.ts";
import {
  type OidcProvider,
  oidcProviderMissing,
  startOidcProvider,
} from "../support/identity_providers/oidc_provider.ts";
import { newOperator } from "../support/operators/console.ts";
import { codeOf } from "../support/people/second_step.ts";
import { signInWords } from "../support/portal/words/sign_in.ts";

const name = "Northwind ID";
const security = "/portal/account/security";

/** Fills in the provider's own form, and agrees to share the address if it doesn't know that yet. */
async function signInThere(page: Page, { isNew = false } = {}): Promise<void> {
  await page.locator("[name=login]").fill("ada");
  await page.locator("[name=password]").fill("any password");
  await press(page, "Sign-in");
  if (isNew) await press(page, "Continue");
}

/** Adds the provider as an operator does. */
async function addProvider(test: TestApp, { url, clientId, clientSecret }: OidcProvider): Promise<void> {
  const { cookie } = await newOperator(test);
  const json = { slug: "northwind", kind: "oidc", name, issuer: url, clientId, clientSecret };
  const response = await test.send("/api/operator/identity-providers", { cookie, json });
  assert.equal(response.status, 201, await response.text());
}

/** Runs a test with the provider at another site than the app, as providers are. */
async function withProvider(test: TestApp, run: (provider: OidcProvider) => Promise<void>): Promise<void> {
  const redirectUris = [`${test.config.baseUrl.origin}/sign-in/with/northwind/callback`];
  const provider = await startOidcProvider({ redirectUris });
  try {
    await addProvider(test, provider);
    await run(provider);
  } finally {
    await provider.stop();
  }
}

browserTests(
  "people sign in with an OpenID provider",
  ({ test, origin, open }) =>
    withProvider(test, async (provider) => {
      const page = await open();
      // Sign up, after a cancellation.
      await page.goto(`${origin}/sign-up`);
      await follow(page, name);
      await follow(page, /Cancel/);
      await heading(page, `Couldn't sign in with ${name}`);
      await follow(page, "Try again");
      await signInThere(page, { isNew: true });
      await heading(page, /^Welcome to/);
      await page.goto(`${origin}/portal/account`);
      await page.locator("main").getByText("ada@example.com").first().waitFor();

      // Sign in again: the provider still knows the person, and signs with a new key.
      await signOut(page);
      await provider.rotateKey();
      await page.getByText("Last used").waitFor();
      await follow(page, name);
      await heading(page, /^Welcome to/);

      // After a sign-out there, it asks again.
      await signOut(page);
      await page.goto(`${provider.url}/session/end`);
      await press(page, /^Yes/);
      await page.goto(`${origin}/sign-in?return_to=/portal/usage`);
      await follow(page, name);
      await signInThere(page, { isNew: true });
      await heading(page, "Usage");

      // The only way to sign in stays until there is a password. Both changes ask the provider again.
      test.advance(recentAuthenticationMs);
      await page.goto(`${origin}${security}`);
      await follow(page, "Disconnect");
      await heading(page, "Confirm it's you");
      await press(page, name);
      await signInThere(page);
      await press(page, "Disconnect");
      await page.getByText("This is your only way to sign in.").first().waitFor();
      await page.goto(`${origin}${security}`);
      await follow(page, "Set a password");
      await page.getByLabel("Password", { exact: true }).fill(testPassword);
      await press(page, "Set password");
      await page.locator(".note.done").first().waitFor();
      await follow(page, "Disconnect");
      await press(page, "Disconnect");
      await page.locator(".note.done").first().waitFor();
      await press(page, `Connect ${name}`);
      await page.locator(".note.done").first().waitFor();

      // Two-step sign-in: the browser comes from another site, and still has its cookie.
      await page.goto(`${origin}/portal/account/two-step`);
      await press(page, /Set up/);
      const secret = (await page.locator("#totp-secret").innerText()).replaceAll(/\s/g, "");
      await page.getByRole("textbox", { name: "Code" }).fill(codeOf(secret, test.now()));
      await press(page, signInWords.turnOn);
      await page.getByText(/[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}/).first().waitFor();
      await signOut(page);
      await follow(page, name);
      await heading(page, signInWords.secondStep);
      test.advance(totpPeriodMs);
      await page.getByRole("textbox", { name: "Code" }).fill(codeOf(secret, test.now()));
      await press(page, /^Sign in$/);
      await heading(page, /^Welcome to/);
    }),
  { ignore: oidcProviderMissing(), plainOnlyInFull: true },
);
