// What tests of people who are signed in and have identities share: browsers with a session, and visits that their pages begin.
import assert from "node:assert/strict";
import type { TestApp } from "../app/app.ts";
import { me } from "../people/people.ts";
import { startIssuer, type TestIssuer } from "./issuer.ts";
import { addProvider, type ProviderOptions } from "./providers.ts";
import { newVisitor, type Visited, type Visitor } from "./visitor.ts";

export const securityPath = "/portal/account/security";
export const identitiesPath = "/api/auth/identities";
export const confirmPath = "/portal/confirm-password";
export const elevenMinutes = 11 * 60_000;

type Run = (test: TestApp, issuer: TestIssuer) => Promise<void>;

/** Runs a test with an issuer that has these providers, by default the provider `peer`. */
export const withPeer =
  (run: Run, providers: readonly ProviderOptions[] = [{ name: "Peer" }]) => async (test: TestApp) => {
    await using issuer = startIssuer();
    for (const provider of providers) await addProvider(test, issuer, provider);
    await run(test, issuer);
  };

/** Returns the user who is signed in, or null. */
export async function userOf(test: TestApp, visitor: Visitor) {
  return (await me(test, await visitor.cookie())).user;
}

let subjects = 0;
export const stranger = (email?: string, claims = {}) => ({
  sub: `stranger-${++subjects}`,
  ...(email && { email }),
  ...claims,
});

/** A browser that is signed in with a cookie. */
export async function browserOf(test: TestApp, cookie: string): Promise<Visitor> {
  const visitor = newVisitor(test);
  await visitor.take(`${cookie}; Path=/; SameSite=Lax`);
  return visitor;
}

/** Sends a form that leads to a provider. @returns The address on its page. */
export async function providerUrl(
  browser: Visitor,
  path: string,
  form: Record<string, string>,
): Promise<URL> {
  const page = await browser.open(path, { form });
  const [, url] = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(page.html) ?? [];
  assert.ok(url, `${page.status} at ${page.url}: ${page.html.slice(0, 400)}`);
  return new URL(url.replaceAll("&amp;", "&"));
}

export async function link(browser: Visitor, provider = "peer"): Promise<Visited> {
  return await browser.open(await providerUrl(browser, "/portal/account/identities/link", { provider }));
}

export async function confirmWith(browser: Visitor, returnTo: string, provider = "peer"): Promise<Visited> {
  return await browser.open(
    await providerUrl(browser, `${confirmPath}/provider`, { provider, return_to: returnTo }),
  );
}

/** Signs up with the provider. */
export async function providerPerson(test: TestApp, issuer: TestIssuer, email: string) {
  issuer.person = stranger(email, { email_verified: true, name: "Ada" });
  const browser = newVisitor(test);
  const page = await browser.signInWith("peer");
  assert.equal(page.status, 200, page.html);
  const cookie = await browser.cookie();
  const user = (await me(test, cookie)).user;
  assert.equal(user?.email, email);
  return { browser, cookie, userId: user?.id ?? "" };
}

export async function listed(test: TestApp, cookie: string) {
  const response = await test.send(identitiesPath, { cookie });
  return await response.json() as {
    identities: {
      id: string;
      provider: { slug: string } | null;
      email: string | null;
      lastUsedAt: string | null;
    }[];
    hasPassword: boolean;
  };
}
