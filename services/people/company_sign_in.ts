// The verbs of an organization's own provider, for its owners: set it up, test it, require it, remove it.
import { findProviders } from "../../db/access/mod.ts";
import { sql } from "../../db/engine/database.ts";
import { findCompanyDomains } from "../../db/people/company_domains.ts";
import { markProviderTested } from "../../db/people/identity_providers.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import { type ErrorDetail, notFoundError, validationError } from "../../domain/errors.ts";
import { emailDomain } from "../../domain/outbox/email.ts";
import {
  type CompanyRole,
  type CompanySignIn,
  companySlug,
  type ProviderTest,
  ssoUntestedError,
} from "../../domain/people/company_sign_in.ts";
import { providerHost } from "../../domain/people/provider_metadata.ts";
import { isoTime } from "../../domain/time.ts";
import { type Access, accessTo, type MemberAccess, requirePermission, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { requireCompanyManager, toCompanyDomain } from "./company_domains.ts";
import { blankProvider, changedProvider, findIssuerFault, writeProvider } from "./identity_providers.ts";
import { beginProviderVisit, type ProviderVisit, requireProvider } from "./provider_visit.ts";

export interface CompanyProviderInput {
  readonly issuer: string;
  readonly clientId: string;
  /** Left out, the stored one stays. */
  readonly clientSecret?: string | undefined;
  readonly role: CompanyRole;
  readonly enforced: boolean;
  readonly sessionMaxDays?: number | null | undefined;
}

/** Reads an organization's provider, undefined without one, and its domains. */
async function findCompany({ database }: SessionContext, organizationId: string) {
  const [[provider], domains] = await Promise.all([
    findProviders(database, sql`organization_id = ${organizationId}`),
    findCompanyDomains(database, organizationId),
  ]);
  return { provider, domains };
}

type Company = Awaited<ReturnType<typeof findCompany>>;

/** @throws {AppError} `forbidden`. */
export async function getCompanySignIn(context: SessionContext, access: Access): Promise<CompanySignIn> {
  requirePermission(access, "sso.read");
  const { organizationId } = access;
  return toCompanySignIn(context, organizationId, await findCompany(context, organizationId));
}

function toCompanySignIn(
  { config }: SessionContext,
  organizationId: string,
  { provider, domains }: Company,
): CompanySignIn {
  const signInUrl = new URL(`/sign-in/with/${companySlug(organizationId)}`, config.baseUrl).href;
  return {
    redirectUri: `${signInUrl}/callback`,
    signInUrl,
    provider: provider === undefined ? null : {
      issuer: provider.issuer,
      clientId: provider.clientId,
      role: provider.role ?? "MEMBER",
      enforced: provider.enforced,
      sessionMaxDays: provider.sessionMaxDays,
      testedAt: isoTime(provider.testedAt),
      hasPendingSecret: provider.pendingSecret !== null,
    },
    domains: domains.map(toCompanyDomain),
  };
}

/** Tells every member whether single sign-on is on, and for which domains. */
export async function summarizeCompanySignIn(context: SessionContext, { organizationId }: Access) {
  const { provider, domains } = await findCompany(context, organizationId);
  return {
    isOn: provider !== undefined,
    isRequired: provider?.enforced === true,
    domains: domains.filter(({ verifiedAt }) => verifiedAt !== null).map(({ domain }) => domain),
  };
}

/**
 * Sets up the provider, or replaces its settings. Another issuer, client ID or secret needs another test before it can be required.
 * While it is required, a new secret alone waits for its test, and people sign in with the previous one.
 *
 * @throws {AppError} `forbidden`, `proof_required`, `validation_failed`, `sso_untested`, `rate_limited`, `unavailable`.
 */
export async function putCompanyProvider(
  context: SessionContext,
  access: MemberAccess,
  input: CompanyProviderInput,
): Promise<CompanySignIn> {
  const by = requireCompanyManager(context, access);
  const { organizationId } = access;
  const { provider: before, domains } = await findCompany(context, organizationId);
  await checkCompanyProvider(context, access, { before, input });
  const { organizationName: name } = access;
  const identity = { organizationId, slug: companySlug(organizationId), kind: "oidc", name } as const;
  const provider = changedProvider(context, before ?? blankProvider(context, identity), {
    ...input,
    sessionMaxDays: input.sessionMaxDays ?? null,
  });
  if (input.enforced && provider.testedAt === null) throw ssoUntestedError();
  const written = await writeProvider(context, { by, organization: access }, { provider, before });
  return toCompanySignIn(context, organizationId, { provider: written, domains });
}

/**
 * Checks what the schema can't. An issuer is looked up if it isn't that of the provider `before`.
 *
 * @throws {AppError} `forbidden`, `proof_required`; `validation_failed` for every invalid field; `rate_limited` after too many issuers.
 */
export async function checkCompanyProvider(
  context: SessionContext,
  access: MemberAccess,
  { before, input: { issuer, clientSecret, sessionMaxDays } }: {
    before: { readonly issuer: string } | null | undefined;
    input: Pick<CompanyProviderInput, "issuer" | "clientSecret" | "sessionMaxDays">;
  },
): Promise<void> {
  requireCompanyManager(context, access);
  const { config } = context;
  const { organizationId } = access;
  const faults: ErrorDetail[] = [];
  if (!before && clientSecret === undefined) faults.push({ path: "clientSecret", message: "is required." });
  if (sessionMaxDays && sessionMaxDays > config.sessionMaxDays) {
    faults.push({ path: "sessionMaxDays", message: `must be at most ${config.sessionMaxDays}.` });
  }
  if (before?.issuer !== issuer) {
    const message = await findIssuerFault(context, { kind: "oidc", issuer, organizationId });
    if (message !== null) faults.push({ path: "issuer", message });
  }
  if (faults.length > 0) throw validationError(faults);
}

/** Removes the provider. Its people sign in with passwords and passkeys. @throws {AppError} `forbidden`, `proof_required`, `not_found`. */
export async function removeCompanyProvider(context: SessionContext, access: MemberAccess): Promise<void> {
  const by = requireCompanyManager(context, access);
  const { provider } = await requireCompany(context, access);
  await writeProvider(context, { by, organization: access }, { provider, isRemoved: true });
}

/**
 * Lets people sign in with passwords and passkeys again. Operators can do this for an organization whose provider is broken; their
 * routes require recent authentication.
 *
 * @throws {AppError} `forbidden`, `not_found`; `unavailable` if someone else just changed it.
 */
export async function stopRequiringProvider(context: SessionContext, access: Access): Promise<CompanySignIn> {
  const by = requirePermission(access, "sso.stop");
  const { provider: before, domains } = await requireCompany(context, access);
  const provider = { ...before, enforced: false };
  const written = await writeProvider(context, { by, organization: access }, { provider, before });
  return toCompanySignIn(context, access.organizationId, { provider: written, domains });
}

async function requireCompany(context: SessionContext, { organizationId }: Access) {
  const { provider, domains } = await findCompany(context, organizationId);
  if (provider === undefined) throw notFoundError();
  return { provider, domains };
}

/**
 * Begins a visit of an owner to the provider. Returns the address to visit, and the token for the browser's cookie.
 *
 * @throws {AppError} `forbidden`, `proof_required`, `email_unverified`, `not_found`, `rate_limited`, `provider_unavailable`.
 */
export async function beginProviderTest(
  context: SessionContext,
  access: MemberAccess,
  browserTokens: readonly string[],
): Promise<{ url: URL; browserToken: string }> {
  const by = requireCompanyManager(context, access);
  const provider = await requireProvider(context, companySlug(access.organizationId), { isForTest: true });
  const { actor } = access;
  return await beginProviderVisit(context, actor.client, {
    provider,
    purpose: "test",
    returnTo: null,
    session: actor,
    browserTokens,
    write: (batch) => context.writeAs(by, batch),
  });
}

/** Records the result of an owner's test in the session that began it. @throws {AppError} `forbidden`, `not_found`. */
export async function completeProviderTest(
  context: SessionContext,
  actor: SessionActor,
  { provider, sessionId, claims: { email, name, vouches, issuer } }: ProviderVisit,
): Promise<ProviderTest> {
  if (sessionId !== actor.id) throw notFoundError();
  const access = accessTo(actor, provider.organizationId ?? "");
  const by = requirePermission(access, "sso.manage");
  const { organizationId } = access;
  const isOfNewSecret = provider.clientSecret === provider.pendingSecret;
  const change = isOfNewSecret ? { change: "client secret" } : {};
  const isSuccess = email !== null && vouches && await writeChange(context, by, {
    statement: markProviderTested({
      provider: { ...provider, issuer },
      domain: emailDomain(email),
      now: context.clock(),
    }),
    entry: {
      action: "sso.tested",
      organizationId,
      target: { id: provider.id, name: providerHost(provider) },
      details: { email, ...change },
    },
  });
  return { isSuccess, isOfNewSecret, email, name, vouches };
}
