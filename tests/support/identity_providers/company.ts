// An organization with its own provider: a DNS server and an issuer for it, and what its owners and people do.
import assert from "node:assert/strict";
import { startTestApp, type TestApp, type TestPerson } from "../app/app.ts";
import { assertRows } from "../app/rows.ts";
import { databaseKinds } from "../database/database.ts";
import { type DnsServer, startDnsServer } from "../network/dns_server.ts";
import { me } from "../people/people.ts";
import { startIssuer, type TestIssuer } from "./issuer.ts";
import { newVisitor, type Visitor } from "./visitor.ts";

/** The parts of a test. */
export interface CompanyScene {
  readonly test: TestApp;
  readonly dns: DnsServer;
  readonly issuer: TestIssuer;
}

/** Defines a test on each kind of database, with a DNS server and a provider. @param options `kinds`: only of these. */
export function companyTest(
  promise: string,
  run: (scene: CompanyScene) => Promise<void>,
  { kinds }: { kinds?: readonly string[] } = {},
): void {
  for (const kind of databaseKinds.filter(({ name }) => kinds?.includes(name) ?? true)) {
    Deno.test({
      name: `${kind.name} database: ${promise}`,
      ignore: kind.ignore,
      async fn() {
        const dns = startDnsServer();
        const issuer = startIssuer();
        const settings = {
          DNS_SERVER: `127.0.0.1:${dns.nameServer.port}`,
          WEBHOOK_ALLOWED_HOSTS: "127.0.0.1",
        };
        const test = await startTestApp(settings, { open: kind.open });
        try {
          await run({ test, dns, issuer });
        } finally {
          await test.dispose();
          await Promise.all([dns.stop(), issuer.stop()]);
        }
      },
    });
  }
}

export const ssoOf = ({ organizationId }: Pick<TestPerson, "organizationId">) =>
  `/api/portal/organizations/${organizationId}/sso`;

export function providerOf(issuer: TestIssuer, more: Record<string, unknown> = {}) {
  const { url, clientId, clientSecret } = issuer;
  return { issuer: url, clientId, clientSecret, role: "MEMBER", enforced: false, ...more };
}

/** Adds a domain, publishes its record and verifies it. */
export async function prove({ test, dns }: CompanyScene, owner: TestPerson, domain: string): Promise<void> {
  const path = `${ssoOf(owner)}/domains`;
  const { html } = await assertRows(test, owner, [[`POST ${path}`, { domain }, 201]]);
  const { recordName, recordValue } = JSON.parse(html).domain;
  dns.texts.set(recordName, ["v=spf1 -all", ...dns.texts.get(recordName) ?? [], recordValue]);
  await assertRows(test, owner, [[`POST ${path}/${domain}/verify`, null, 200]]);
}

/** Tests the provider in the browser of an owner. @returns The page with the result. */
export async function testProvider({ test }: CompanyScene, owner: TestPerson) {
  const visitor = newVisitor(test);
  await visitor.take(owner.cookie);
  const begun = await test.send(`${ssoOf(owner)}/test`, { method: "POST", cookie: owner.cookie });
  assert.equal(begun.status, 200, await begun.clone().text());
  for (const cookie of begun.headers.getSetCookie()) await visitor.take(cookie);
  return await visitor.open((await begun.json()).url);
}

/** Sets up the provider with the domain example.com, tests it, and requires it. */
export async function requireProvider(
  scene: CompanyScene,
  owner: TestPerson,
  more: Record<string, unknown> = {},
) {
  const { test, issuer } = scene;
  await assertRows(test, owner, [[`PUT ${ssoOf(owner)}`, providerOf(issuer), 200]]);
  await prove(scene, owner, "example.com");
  issuer.person = { sub: "owner", email: owner.email };
  assert.match((await testProvider(scene, owner)).html, /Single sign-on works/);
  await assertRows(test, owner, [[
    `PUT ${ssoOf(owner)}`,
    providerOf(issuer, { ...more, enforced: true }),
    200,
  ]]);
}

export async function slugOf({ test }: CompanyScene, owner: TestPerson): Promise<string> {
  const { html } = await assertRows(test, owner, [[`GET ${ssoOf(owner)}`, null, 200]]);
  return new URL(JSON.parse(html).sso.signInUrl).pathname.split("/").at(-1) ?? "";
}

export async function signInAs(
  { test, issuer }: CompanyScene,
  slug: string,
  email: string,
  claims: Record<string, unknown> = {},
) {
  issuer.person = { sub: `sub of ${email}`, email, name: email.split("@")[0], ...claims };
  const visitor = newVisitor(test);
  return { visitor, visited: await visitor.signInWith(slug) };
}

export async function userOf(test: TestApp, visitor: Visitor) {
  return await me(test, await visitor.cookie());
}
