// Stores identity providers, and asserts what became of a visit to one.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { newId } from "../../../domain/id.ts";
import type { ProviderKind } from "../../../domain/people/identity_provider.ts";
import type { TestApp } from "../app/app.ts";
import type { TestGithub } from "./github.ts";
import type { TestIssuer } from "./issuer.ts";
import type { Visited, Visitor } from "./visitor.ts";

export interface ProviderOptions {
  /** "peer" by default. */
  readonly slug?: string;
  readonly kind?: ProviderKind;
  readonly name?: string;
  readonly issuer?: string;
  readonly trustEmail?: boolean;
  readonly signUp?: boolean;
  /** Of an organization, with the domains that it has proved. Null by default. */
  readonly company?: {
    readonly organizationId: string;
    readonly domains: readonly string[];
    readonly role?: "ADMIN" | "MEMBER";
    readonly enforced?: boolean;
    readonly sessionMaxDays?: number;
  };
}

/** Stores a provider. @returns Its id. */
export async function addProvider(
  { opened, services, now }: Pick<TestApp, "opened" | "services" | "now">,
  peer: Pick<TestIssuer | TestGithub, "url" | "clientId" | "clientSecret">,
  options: ProviderOptions = {},
): Promise<string> {
  const { slug = "peer", kind = "oidc", trustEmail = false, signUp = true, company } = options;
  const id = newId("idp");
  const secret = services.secrets.seal(id, peer.clientSecret);
  await opened.database.write([
    sql`INSERT INTO identity_providers (id, organization_id, slug, kind, name, issuer, client_id, client_secret, trust_email,
        sign_up, position, role, enforced, session_max_days, tested_at, created_at, updated_at)
      SELECT ${id}, ${company?.organizationId ?? null}, ${slug}, ${kind}, ${options.name ?? `Peer ${slug}`},
        ${options.issuer ?? peer.url}, ${peer.clientId}, ${secret}, ${Number(trustEmail)}, ${Number(signUp)},
        (SELECT count(*) FROM identity_providers), ${
      company === undefined ? null : company.role ?? "MEMBER"
    }, ${Number(company?.enforced ?? false)}, ${company?.sessionMaxDays ?? null}, ${
      company === undefined ? null : now()
    }, ${now()}, ${now()}`,
    ...(company?.domains ?? []).map((domain) =>
      sql`INSERT INTO organization_domains (organization_id, domain, token, created_at, verified_at)
        VALUES (${company?.organizationId ?? null}, ${domain}, ${domain}, ${now()}, ${now()})`
    ),
  ]);
  return id;
}

/** Counts what a visit must not create, and reads the audit log. */
async function stateOf({ opened }: Pick<TestApp, "opened">) {
  const tables = ["users", "organizations", "memberships", "identities", "sessions", "pending_sign_ins"];
  const counts = await Promise.all(tables.map(async (table) => {
    const row = await opened.database.readFirst<{ count: number }>({
      sql: `SELECT count(*) AS count FROM ${table}`,
      args: [],
    });
    return [table, row?.count];
  }));
  const entries = await opened.database.read<{ action: string; details: string }>(
    sql`SELECT action, details FROM audit_events ORDER BY at, id`,
  );
  return { counts: Object.fromEntries(counts), entries };
}

/** An entry of the audit log. */
export interface Audited {
  readonly action: string;
  readonly details: Readonly<Record<string, string>>;
}

/** Runs a visit. @returns Its result, and the new entries of the audit log. */
export async function auditedBy<T>(
  test: Pick<TestApp, "opened">,
  run: () => Promise<T>,
): Promise<{ result: T; entries: readonly Audited[]; changed: boolean }> {
  const before = await stateOf(test);
  const result = await run();
  const after = await stateOf(test);
  const entries = after.entries.slice(before.entries.length)
    .map(({ action, details }) => ({ action, details: JSON.parse(details) }));
  return { result, entries, changed: JSON.stringify(before.counts) !== JSON.stringify(after.counts) };
}

/**
 * Asserts that a visit ends on a page with other ways to sign in, and creates no account, identity or session.
 *
 * @param options `isAudited`: asserts that it writes one entry to the audit log, or none. One by default.
 * @returns The page, and the reason in the entry.
 */
export async function assertRejected(
  test: TestApp,
  visitor: Visitor,
  visit: () => Promise<Visited>,
  { name, isAudited = true }: { name: string; isAudited?: boolean },
): Promise<{ status: number; reason: string; html: string }> {
  const { result, entries, changed } = await auditedBy(test, visit);
  const { status, html } = result;
  assert.ok(status >= 400 && status < 600, `${name}: ${status} at ${result.url} ${html.slice(0, 300)}`);
  assert.match(result.headers.get("content-type") ?? "", /^text\/html/, name);
  assert.ok(!changed, `${name}: something was created`);
  assert.deepEqual(entries.map(({ action }) => action), isAudited ? ["session.refused"] : [], name);
  const reason = entries[0]?.details["reason"] ?? "";
  assert.equal(reason !== "", isAudited, `${name}: the reason is “${reason}”`);
  assert.match(html, /href="\/sign-in[?"]|action="\/sign-in[?"]/, `${name}: no other way`);
  assert.ok(!await visitor.isSignedIn(), `${name}: signed in`);
  return { status, reason, html };
}
