// The providers that people sign in with: the one way to add, change and remove them, and the verbs of operators for those of the whole
// service. Such a provider can sign in as anyone whose address it vouches for, so only operators manage them. company_sign_in.ts has the
// verbs of organizations.
import {
  beginShortening,
  findProviders,
  ifAudited,
  type ProviderRow,
  selectProviders,
  type StoredProvider,
  toProvider,
} from "../../db/access/mod.ts";
import { sql } from "../../db/engine/database.ts";
import { insertCompanySignInMails } from "../../db/people/company_domains.ts";
import {
  countConnected,
  deleteProvider,
  insertProvider,
  numberServiceProviders,
  updateProvider,
} from "../../db/people/identity_providers.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { type AuditAction, type AuditEntry, changedDetails } from "../../domain/access/audit.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import type {
  IdentityProvider,
  ProviderKind,
  ProviderSettings,
  ServiceProvider,
} from "../../domain/people/identity_provider.ts";
import { offeredProvidersMax } from "../../domain/people/provider_limits.ts";
import { issuerFault, ownIssuers, providerHost, redirectUri } from "../../domain/people/provider_metadata.ts";
import { isoTime } from "../../domain/time.ts";
import { type Access, requireAllowed, writeAndRead, type Writer } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { SecretsError } from "../secrets.ts";
import { findProviderFault } from "./provider_discovery.ts";

/** The owner of a provider, and the one who changes it. `organization`: null for the service. */
export interface ProviderOwner {
  readonly by: Writer;
  readonly organization: Pick<Access, "organizationId" | "organizationName"> | null;
}

/** Adds a provider. With `before`, changes it from that; with `isRemoved`, removes it. */
export interface ProviderWrite {
  readonly provider: StoredProvider;
  readonly before?: StoredProvider | undefined;
  readonly isRemoved?: boolean;
}

type Act = "added" | "changed" | "enforced" | "not_enforced" | "removed";

const actionsOfService: Readonly<Record<Act, AuditAction>> = {
  added: "identity_provider.created",
  changed: "identity_provider.changed",
  enforced: "identity_provider.changed",
  not_enforced: "identity_provider.changed",
  removed: "identity_provider.deleted",
};
const actionsOfOrganization: Readonly<Record<Act, AuditAction>> = {
  added: "sso.added",
  changed: "sso.changed",
  enforced: "sso.enforced",
  not_enforced: "sso.enforcement_ended",
  removed: "sso.removed",
};

/**
 * Writes a provider with its audit entry, if something differs. All owners of an organization get an email about its own.
 *
 * @returns The provider as it is stored, or was.
 * @throws {AppError} `provider_taken`, `limit_reached` for a new one of the service; `not_found` if it is gone; `unavailable` if someone
 *   else just changed it.
 */
export async function writeProvider(
  context: SessionContext,
  { by, organization }: ProviderOwner,
  write: ProviderWrite,
): Promise<StoredProvider> {
  const { provider, before, isRemoved = false } = write;
  const { id, position } = provider;
  const act = actOf(write);
  if (act === null) return provider;
  const now = context.clock();
  const max = organization === null ? offeredProvidersMax : 1;
  const { isMade, row } = await writeAndRead<ProviderRow>(context, by, {
    statement: isRemoved
      ? deleteProvider(provider)
      : before === undefined
      ? insertProvider(provider, { max, now })
      : updateProvider(before, provider, now),
    entry: entryOf(act, organization, write),
    after(audited) {
      if (organization === null) {
        const isMoved = before !== undefined && before.position !== position;
        return [numberServiceProviders(isMoved ? { id, position } : null, audited.audited)];
      }
      const { organizationId, organizationName } = organization;
      const fields = { organization: organizationName, change: act, provider: providerHost(provider) };
      return [
        ...before === undefined ? [] : beginShortening(organizationId, ifAudited(audited.audited)),
        ...context.mail.mode === "none" ? [] : insertCompanySignInMails(organizationId, fields, audited),
      ];
    },
  }, selectProviders(sql`id = ${id}`));
  if (isMade) {
    if (organization !== null) context.mail.wake();
    return isRemoved ? provider : toProvider(row());
  }
  if (act === "added" && organization === null) throw await findAddError(context);
  if (act !== "added") row();
  const noun = organization === null ? "this provider" : "single sign-on";
  throw unavailableError(`Someone else just changed ${noun}. Try again.`);
}

/** Finds out why a provider of the service wasn't added. */
async function findAddError(context: Reading): Promise<AppError> {
  return (await listServiceProviders(context)).length >= offeredProvidersMax
    ? new AppError(
      "limit_reached",
      `There can be at most ${offeredProvidersMax} providers. Delete one first.`,
    )
    : new AppError("provider_taken", "A provider with this slug already exists.");
}

/** Returns null if nothing differs. */
function actOf({ provider, before, isRemoved = false }: ProviderWrite): Act | null {
  if (isRemoved) return "removed";
  if (before === undefined) return "added";
  if (before.enforced !== provider.enforced) return provider.enforced ? "enforced" : "not_enforced";
  return changesOf(before, provider).length > 0 ? "changed" : null;
}

function entryOf(
  act: Act,
  organization: ProviderOwner["organization"],
  { provider, before }: ProviderWrite,
): AuditEntry {
  const { id, name, issuer, trustEmail } = provider;
  const changes = before === undefined ? [] : changesOf(before, provider);
  const changed = before === undefined || changes.length === 0 ? null : {
    change: changes.join(", "),
    ...changedDetails(before, provider, ["name", "issuer", "clientId", "role", "sessionMaxDays"]),
  };
  if (organization !== null) {
    const target = { id, name: providerHost(provider) };
    const { organizationId } = organization;
    return { action: actionsOfOrganization[act], organizationId, target, details: changed ?? {} };
  }
  const trusts = act === "added" && trustEmail;
  return {
    action: actionsOfService[act],
    organizationId: null,
    target: { id, name },
    details: changed ?? { issuer, ...(trusts ? { trust: "every email address" } : {}) },
  };
}

/** Returns what differs, in words for the audit log. */
function changesOf(before: StoredProvider, after: StoredProvider): string[] {
  const words = {
    name: "name",
    issuer: `issuer ${after.issuer}`,
    clientId: "client ID",
    position: "position",
    trustEmail: `trusts every email address: ${after.trustEmail ? "yes" : "no"}`,
    signUp: `anyone can sign up: ${after.signUp ? "yes" : "no"}`,
    clientSecret: "client secret",
    pendingSecret: "client secret to test",
    role: `role ${after.role}`,
    sessionMaxDays: `sessions of ${after.sessionMaxDays ?? "the default number of"} days`,
  };
  const names = Object.keys(words) as (keyof typeof words)[];
  return names.filter((name) => before[name] !== after[name]).map((name) => words[name]);
}

/** Settings to change. Omitted ones keep their values. `clientSecret`: unencrypted. */
export type ProviderChange = {
  readonly [Name in keyof ProviderSettings | "clientSecret"]?: StoredProvider[Name] | undefined;
};

/** Returns a provider to add, once it has its settings. */
export function blankProvider(
  { clock }: SessionContext,
  identity: Pick<StoredProvider, "organizationId" | "slug" | "kind" | "name">,
): StoredProvider {
  const now = clock();
  return {
    ...identity,
    ...{ id: newId("idp"), createdAt: now, updatedAt: now, testedAt: null, position: 0 },
    ...{ issuer: "", clientId: "", clientSecret: "", pendingSecret: null, trustEmail: false, signUp: true },
    ...{ role: null, enforced: false, sessionMaxDays: null },
  };
}

/**
 * Returns a provider with other settings. With another issuer, client ID or secret it isn't tested. While it is required, a new secret
 * alone waits for its test.
 */
export function changedProvider(
  { secrets }: SessionContext,
  before: StoredProvider,
  { clientSecret: secret, ...given }: ProviderChange,
): StoredProvider {
  const { id, clientSecret: current, pendingSecret: pending } = before;
  const settings = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const after: StoredProvider = { ...before, ...settings };
  const isSameClient = before.issuer === after.issuer && before.clientId === after.clientId;
  const sealed = (stored: string | null) =>
    secret === undefined ? stored : sealSecret(secrets, { id, secret, stored });
  const next = sealed(current) ?? current;
  const waits = isSameClient && before.enforced && after.enforced && next !== current;
  const keepsPending = isSameClient && secret === undefined;
  return {
    ...after,
    clientSecret: waits ? current : next,
    pendingSecret: waits || keepsPending ? sealed(pending) : null,
    testedAt: isSameClient && (waits || next === current) ? before.testedAt : null,
  };
}

/** Encrypts a client secret. Keeps a stored one that is the same; one that can't be read is another. */
function sealSecret(
  secrets: SessionContext["secrets"],
  { id, secret, stored }: { id: string; secret: string; stored: string | null },
): string {
  try {
    if (stored !== null && secrets.open(id, stored) === secret) return stored;
  } catch (error) {
    if (!(error instanceof SecretsError)) throw error;
  }
  return secrets.seal(id, secret);
}

/**
 * Returns why an issuer can't be used, as the end of a sentence about it; null if it can. It is looked up, which is limited for an
 * organization.
 *
 * @throws {AppError} `rate_limited`.
 */
export async function findIssuerFault(
  context: SessionContext,
  provider: Pick<IdentityProvider, "kind" | "issuer" | "organizationId">,
): Promise<string | null> {
  const { kind, issuer, organizationId } = provider;
  const fault = issuerFault(kind, issuer);
  if (fault !== null) return fault;
  if (organizationId !== null) requireAllowed(context.rateLimits.domainLookups.take(organizationId));
  const found = await findProviderFault(context, provider);
  return found === null ? null : `can't be used: ${found}.`;
}

type Reading = Pick<SessionContext, "database" | "config">;

/** Lists all providers of the service in their order, at most {@linkcode offeredProvidersMax}. */
export async function listServiceProviders(context: Reading): Promise<ServiceProvider[]> {
  const found = await findProviders(context.database, sql`organization_id IS NULL ORDER BY position, id`);
  return found.map((provider) => toServiceProvider(context, provider));
}

/** @throws {AppError} `not_found`. */
export async function getServiceProvider(context: Reading, id: string): Promise<ServiceProvider> {
  return toServiceProvider(context, await requireServiceProvider(context, id));
}

/** @throws {AppError} `not_found`. */
export async function getServiceProviderBySlug(context: Reading, slug: string): Promise<ServiceProvider> {
  const found = (await listServiceProviders(context)).find((provider) => provider.slug === slug);
  if (found === undefined) throw notFoundError();
  return found;
}

/**
 * Adds a provider after all others, if it can be reached and used.
 *
 * @throws {AppError} `validation_failed`, `provider_taken`, `limit_reached`.
 */
export async function createServiceProvider(
  context: SessionContext,
  by: OperatorActor,
  { slug, kind, ...given }: ProviderChange & Pick<StoredProvider, "slug" | "kind" | "name">,
): Promise<ServiceProvider> {
  const issuer = await checkIssuer(context, kind, given.issuer);
  const blank = blankProvider(context, { organizationId: null, slug, kind, name: given.name });
  const provider = changedProvider(context, blank, { ...given, issuer });
  return toServiceProvider(context, await writeProvider(context, { by, organization: null }, { provider }));
}

/**
 * Changes a provider. Its slug and its kind stay: the provider has registered the one, and people are known by the other.
 *
 * @param change `position`: starts at 1; larger numbers than the last one mean the last one.
 * @throws {AppError} `not_found`, `validation_failed`; `unavailable` if someone else just changed it.
 */
export async function changeServiceProvider(
  context: SessionContext,
  by: OperatorActor,
  { id, ...given }: ProviderChange & { readonly id: string },
): Promise<ServiceProvider> {
  const before = await requireServiceProvider(context, id);
  const { issuer = before.issuer } = given;
  if (issuer !== before.issuer) await checkIssuer(context, before.kind, issuer);
  const write = { before, provider: changedProvider(context, before, given) };
  return toServiceProvider(context, await writeProvider(context, { by, organization: null }, write));
}

/** Deletes a provider. No one can sign in with it anymore; existing sessions stay. @throws {AppError} `not_found`. */
export async function deleteServiceProvider(
  context: SessionContext,
  by: OperatorActor,
  id: string,
): Promise<void> {
  const provider = await requireServiceProvider(context, id);
  await writeProvider(context, { by, organization: null }, { provider, isRemoved: true });
}

/** Counts the accounts that a provider signs in, up to `connectedCountMax`, and those of them without a password. */
export async function countProviderAccounts({ database }: Reading, { issuer }: ServiceProvider) {
  return await countConnected(database, issuer);
}

/** Returns an issuer that can be used, after a look-up. @throws {AppError} `validation_failed`. */
export async function checkIssuer(
  context: SessionContext,
  kind: ProviderKind,
  issuer = ownIssuers[kind],
): Promise<string> {
  const wrong = (message: string) => validationError([{ path: "issuer", message }]);
  if (issuer === undefined) throw wrong("is required for this kind.");
  const fault = await findIssuerFault(context, { kind, issuer, organizationId: null });
  if (fault !== null) throw wrong(fault);
  return issuer;
}

async function requireServiceProvider({ database }: Reading, id: string): Promise<StoredProvider> {
  const [found] = isId("idp", id)
    ? await findProviders(database, sql`organization_id IS NULL AND id = ${id}`)
    : [];
  if (found === undefined) throw notFoundError();
  return found;
}

function toServiceProvider({ config }: Pick<Reading, "config">, provider: StoredProvider): ServiceProvider {
  const { id, slug, kind, name, issuer, clientId, trustEmail, signUp, position } = provider;
  return {
    ...{ id, slug, kind, name, issuer, clientId, trustEmail, signUp, position },
    redirectUri: redirectUri(config.baseUrl, slug),
    createdAt: isoTime(provider.createdAt),
    updatedAt: isoTime(provider.updatedAt),
  };
}
