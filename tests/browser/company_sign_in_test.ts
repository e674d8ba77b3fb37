// Signing in with an organization's provider in a real browser, with scripts and without: immediately from our sign-in page, from a page of
// another site only after a question.
import assert from "node:assert/strict";
import { addressFailuresMax } from "../../domain/limits.ts";
import { testPassword } from "../support/app/app.ts";
import { browserTests } from "../support/browser/app.ts";
import { follow, heading, press, signOut } from "../support/browser/browser.ts";
import { startIssuer } from "../support/identity_providers/issuer.ts";
import { addProvider } from "../support/identity_providers/providers.ts";
import { newOrganization } from "../support/people/scene.ts";
import { webhookSettings } from "../support/webhooks/endpoints.ts";

const address = "/sign-in/with/corp";

/** Starts another site, whose only page links to the provider and has images of its callback. */
function startOtherSite(origin: string) {
  const image = `<img src="${origin}${address}/callback?state=1&code=x">`;
  const html = `<a href="${origin}${address}">Look</a>${image.repeat(addressFailuresMax + 2)}`;
  const options = { port: 0, hostname: "127.0.0.1", onListen() {} };
  return Deno.serve(options, () => new Response(html, { headers: { "content-type": "text/html" } }));
}

browserTests("an organization's people sign in with its provider", async ({ test, origin, open }) => {
  await using issuer = startIssuer({ person: { sub: "eve", email: "eve@corp.example" } });
  const company = { organizationId: await newOrganization(test, "Corp"), domains: ["corp.example"] };
  await addProvider(test, issuer, { slug: "corp", name: "Corp", company });
  await using other = startOtherSite(origin);
  const { email } = await test.signUp("Victim");
  const page = await open("/sign-in");

  // From our page.
  await page.getByLabel("Email").fill("eve@corp.example");
  await press(page, "Continue with single sign-on");
  await heading(page, "Members");
  await signOut(page);

  // Someone else is signed in when another site leads to the provider.
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(testPassword);
  await press(page, /^Sign in$/);
  await heading(page, /^Welcome to/);
  const requests = issuer.requests.length;
  const site = `http://127.0.0.1:${other.addr.port}/`;
  await page.goto(site);
  await follow(page, "Look");
  await heading(page, "Single sign-on");
  assert.equal(issuer.requests.length, requests);
  await press(page, /^Continue to/);
  await heading(page, "Another account");
  await follow(page, "Stay signed in");
  await page.goto(`${origin}/portal/account`);
  await page.locator("main").getByText(email).first().waitFor();
  await page.goto(site);
  await follow(page, "Look");
  await press(page, /^Continue to/);
  await press(page, "Sign out and continue");
  await heading(page, /^Welcome to/);
  await page.goto(`${origin}/portal/account`);
  await page.locator("main").getByText("eve@corp.example").first().waitFor();

  // The images used up none of the address's failures.
  await signOut(page);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(testPassword);
  await press(page, /^Sign in$/);
  await heading(page, /^Welcome to/);
}, { settings: webhookSettings, plainOnlyInFull: true });
