// An organization's own provider: set it up, test it, require it, remove it. Its secret never leaves this file unencrypted.
import {
  type CompanyDomainRow,
  type CompanyProviderFields,
  type CompanyProviderRow,
  deleteCompanyProvider,
  endEnforcement,
  findCompanyDomains,
  findCompanyProvider,
  insertCompanyProvider,
  insertCompanySignInMails,
  markCompanyProviderTested,
  updateCompanyProvider,
} from "../../db/people/company_sign_in.ts";
import { beginShortening, ifAudited } from "../../db/access/mod.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import { changedDetails } from "../../domain/access/audit.ts";
import { type ErrorDetail, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import { emailDomain } from "../../domain/outbox/email.ts";
import type { SingleSignOnChange } from "../../domain/outbox/mail.ts";
import {
  type CompanyRole,
  type CompanySignIn,
  companySlug,
  ssoUntestedError,
} from "../../domain/people/company_sign_in.ts";
import { issuerFault } from "../../domain/people/provider_metadata.ts";
import { isoTime } from "../../domain/time.ts";
import {
  type Access,
  accessTo,
  type Change,
  type MemberAccess,
  requireAllowed,
  requirePermission,
  writeChange,
} from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { findProviderFault } from "./provider_discovery.ts";
import { beginProviderVisit, type ProviderVisit, requireProvider } from "./provider_visit.ts";
import { SecretsError } from "../secrets.ts";
import { requireCompanyManager, toCompanyDomain } from "./company_domains.ts";

export interface CompanyProviderInput {
  readonly issuer: string;
  readonly clientId: string;
  /** Left out, the stored one stays. */
  readonly clientSecret?: string | undefined;
  readonly role: CompanyRole;
  readonly enforced: boolean;
  readonly sessionMaxDays?: number | null | undefined;
}

/** @throws {AppError} `forbidden`. */
export async function getCompanySignIn(context: SessionContext, access: Access): Promise<CompanySignIn> {
  requirePermission(access, "sso.read");
  const { organizationId } = access;
  const [row, domains] = await Promise.all([
    findCompanyProvider(context.database, organizationId),
    findCompanyDomains(context.database, organizationId),
  ]);
  return toCompanySignIn(context, organizationId, { row, domains });
}

function toCompanySignIn(
  { config }: SessionContext,
  organizationId: string,
  { row, domains }: {
    row: Omit<CompanyProviderRow, "id" | "slug"> | undefined;
    domains: readonly CompanyDomainRow[];
  },
): CompanySignIn {
  const signInUrl = new URL(`/sign-in/with/${companySlug(organizationId)}`, config.baseUrl).href;
  return {
    redirectUri: `${signInUrl}/callback`,
    signInUrl,
    provider: row === undefined ? null : {
      issuer: row.issuer,
      clientId: row.clientId,
      role: row.role,
      enforced: row.enforced === 1,
      sessionMaxDays: row.sessionMaxDays,
      testedAt: isoTime(row.testedAt),
      hasPendingSecret: row.pendingSecret !== null,
    },
    domains: domains.map(toCompanyDomain),
  };
}

/** Tells every member whether single sign-on is on, and for which domains. */
export async function summarizeCompanySignIn(
  { database }: SessionContext,
  { organizationId }: Access,
): Promise<{ isOn: boolean; isRequired: boolean; domains: string[] }> {
  const [row, domains] = await Promise.all([
    findCompanyProvider(database, organizationId),
    findCompanyDomains(database, organizationId),
  ]);
  return {
    isOn: row !== undefined,
    isRequired: row?.enforced === 1,
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
  const now = context.clock();
  const [before, domains] = await Promise.all([
    findCompanyProvider(context.database, organizationId),
    findCompanyDomains(context.database, organizationId),
  ]);
  const id = before?.id ?? newId("idp");
  await checkCompanyProvider(context, access, { before, input });
  const fields = storedFields(context, { id, before, input });
  if (
    fields.enforced === 1 &&
    (before === undefined || before.testedAt === null || hasOtherCredentials(before, fields))
  ) {
    throw ssoUntestedError();
  }
  const slug = companySlug(organizationId);
  const change = before === undefined
    ? {
      statement: insertCompanyProvider(organizationId, { id, slug, fields, now }),
      entry: { action: "sso.added", organizationId, target: targetOf({ id, ...fields }) },
      mail: "added",
    } as const
    : editOf(organizationId, { before, after: fields, now });
  if (change !== null && !await write(context, by, { access, provider: fields, ...change })) {
    throw unavailableError("Someone else just changed single sign-on. Try again.");
  }
  // Reading it again could fail after the change was made.
  const isTested = before !== undefined && !hasOtherCredentials(before, fields);
  const row = { ...fields, testedAt: isTested ? before.testedAt : null };
  return toCompanySignIn(context, organizationId, { row, domains });
}

function storedFields(
  { secrets }: SessionContext,
  { id, before, input }: { id: string; before: CompanyProviderRow | undefined; input: CompanyProviderInput },
): CompanyProviderFields {
  const { issuer, clientId, clientSecret, role, enforced, sessionMaxDays = null } = input;
  const fields = { issuer, clientId, role, enforced: enforced ? 1 : 0, sessionMaxDays };
  const isSameClient = before?.issuer === issuer && before.clientId === clientId;
  if (before !== undefined && clientSecret === undefined) {
    return {
      ...fields,
      clientSecret: before.clientSecret,
      pendingSecret: isSameClient ? before.pendingSecret : null,
    };
  }
  const sealed = (stored: string | null = null) =>
    stored !== null && isSecret(secrets, { id, stored, secret: clientSecret })
      ? stored
      : secrets.seal(id, clientSecret ?? "");
  const current = sealed(before?.clientSecret);
  const waits = isSameClient && before.enforced === 1 && enforced && current !== before.clientSecret;
  return waits
    ? { ...fields, clientSecret: before.clientSecret, pendingSecret: sealed(before.pendingSecret) }
    : { ...fields, clientSecret: current, pendingSecret: null };
}

/** True if a stored secret is this one. One that can't be read is another. */
function isSecret(
  secrets: SessionContext["secrets"],
  { id, stored, secret }: { id: string; stored: string; secret: string | undefined },
): boolean {
  try {
    return secrets.open(id, stored) === secret;
  } catch (error) {
    if (error instanceof SecretsError) return false;
    throw error;
  }
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
  const faults: ErrorDetail[] = [];
  if (!before && clientSecret === undefined) faults.push({ path: "clientSecret", message: "is required." });
  if (sessionMaxDays && sessionMaxDays > config.sessionMaxDays) {
    faults.push({ path: "sessionMaxDays", message: `must be at most ${config.sessionMaxDays}.` });
  }
  if (before?.issuer !== issuer) {
    const fault = issuerFault("oidc", issuer) ?? await lookUpIssuer(context, access.organizationId, issuer);
    if (fault !== null) faults.push({ path: "issuer", message: fault });
  }
  if (faults.length > 0) throw validationError(faults);
}

/** Returns why an issuer can't be used; null if it can. @throws {AppError} `rate_limited`. */
async function lookUpIssuer(
  context: SessionContext,
  organizationId: string,
  issuer: string,
): Promise<string | null> {
  requireAllowed(context.rateLimits.domainLookups.take(organizationId));
  const found = await findProviderFault(context, { kind: "oidc", issuer, organizationId });
  return found === null ? null : `can't be used: ${found}.`;
}

function hasOtherCredentials(before: CompanyProviderRow, after: CompanyProviderFields): boolean {
  return before.issuer !== after.issuer || before.clientId !== after.clientId ||
    before.clientSecret !== after.clientSecret;
}

/** Returns null if nothing differs. Turning enforcement on or off has an entry of its own. */
function editOf(
  organizationId: string,
  { before, after, now }: { before: CompanyProviderRow; after: CompanyProviderFields; now: number },
): CompanyChange | null {
  const words = {
    issuer: `issuer ${after.issuer}`,
    clientId: "client ID",
    clientSecret: "client secret",
    pendingSecret: "client secret to test",
    role: `role ${after.role}`,
    sessionMaxDays: `sessions of ${after.sessionMaxDays ?? "the default number of"} days`,
  };
  const names = (Object.keys(words) as (keyof typeof words)[]).filter((name) => before[name] !== after[name]);
  const isSwitched = before.enforced !== after.enforced;
  if (names.length === 0 && !isSwitched) return null;
  const action = isSwitched ? after.enforced === 1 ? "sso.enforced" : "sso.enforcement_ended" : "sso.changed";
  const change = names.map((name) => words[name]).join(", ");
  return {
    statement: updateCompanyProvider(organizationId, { before, after, now }),
    entry: {
      action,
      organizationId,
      target: targetOf({ id: before.id, ...after }),
      ...(change === "" ? {} : {
        details: {
          change,
          ...changedDetails(before, after, ["issuer", "clientId", "role", "sessionMaxDays"]),
        },
      }),
    },
    mail: isSwitched ? after.enforced === 1 ? "enforced" : "not_enforced" : "changed",
    after: ({ audited }) => beginShortening(organizationId, ifAudited(audited)),
  };
}

/** Removes the provider. Its people sign in with passwords and passkeys. @throws {AppError} `forbidden`, `proof_required`, `not_found`. */
export async function removeCompanyProvider(context: SessionContext, access: MemberAccess): Promise<void> {
  const by = requireCompanyManager(context, access);
  const { organizationId } = access;
  const provider = await requireCompanyProvider(context, organizationId);
  const isRemoved = await write(context, by, {
    access,
    provider,
    statement: deleteCompanyProvider(organizationId),
    entry: { action: "sso.removed", organizationId, target: targetOf(provider) },
    mail: "removed",
  });
  if (!isRemoved) throw notFoundError();
}

/**
 * Lets people sign in with passwords and passkeys again. Operators can do this for an organization whose provider is broken; their
 * routes require recent authentication.
 *
 * @throws {AppError} `forbidden`, `not_found`.
 */
export async function stopRequiringProvider(context: SessionContext, access: Access): Promise<CompanySignIn> {
  const by = requirePermission(access, "sso.stop");
  const { organizationId } = access;
  const provider = await requireCompanyProvider(context, organizationId);
  const domains = await findCompanyDomains(context.database, organizationId);
  await write(context, by, {
    access,
    provider,
    statement: endEnforcement(organizationId, context.clock()),
    entry: { action: "sso.enforcement_ended", organizationId, target: targetOf(provider) },
    mail: "not_enforced",
  });
  return toCompanySignIn(context, organizationId, { row: { ...provider, enforced: 0 }, domains });
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

/** The claims that came back from a test. `isSuccess`: the address is of a verified domain, so the provider can be required. */
export interface ProviderTest {
  readonly isSuccess: boolean;
  /** True if the test was of a new client secret, which replaces the previous one after a success. */
  readonly isOfNewSecret: boolean;
  readonly email: string | null;
  readonly name: string;
  readonly vouches: boolean;
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
    statement: markCompanyProviderTested({
      provider: { ...provider, issuer },
      domain: emailDomain(email),
      now: context.clock(),
    }),
    entry: {
      action: "sso.tested",
      organizationId,
      target: targetOf(provider),
      details: { email, ...change },
    },
  });
  return { isSuccess, isOfNewSecret, email, name, vouches };
}

async function requireCompanyProvider({ database }: SessionContext, organizationId: string) {
  const row = await findCompanyProvider(database, organizationId);
  if (row === undefined) throw notFoundError();
  return row;
}

type CompanyChange = Omit<Change, "email"> & { readonly mail: SingleSignOnChange };

/** Writes a change with its email to all owners. Returns true if it was made. */
async function write(
  context: SessionContext,
  by: Parameters<typeof writeChange>[1],
  { access, provider, mail, after, ...change }: CompanyChange & {
    access: Access;
    provider: Pick<CompanyProviderFields, "issuer">;
  },
): Promise<boolean> {
  const fields = { organization: access.organizationName, change: mail, provider: hostOfIssuer(provider) };
  const isMade = await writeChange(context, by, {
    ...change,
    after: (audited) => [
      ...after?.(audited) ?? [],
      ...context.mail.mode === "none" ? [] : insertCompanySignInMails(access.organizationId, fields, audited),
    ],
  });
  if (isMade) context.mail.wake();
  return isMade;
}

function targetOf({ id, issuer }: Pick<CompanyProviderRow, "id" | "issuer">) {
  return { id, name: hostOfIssuer({ issuer }) };
}

function hostOfIssuer({ issuer }: Pick<CompanyProviderRow, "issuer">): string {
  return URL.parse(issuer)?.host ?? issuer;
}
