// The providers of the whole service: list, add, change, order, delete. A provider can sign in as anyone whose address it vouches for,
// so only operators manage them. A secret never leaves this file unencrypted.
import {
  countConnected,
  deleteServiceProvider,
  findServiceProviders,
  insertServiceProvider,
  numberServiceProviders,
  type ProviderChange as StoredChange,
  selectServiceProvider,
  type ServiceProviderRow,
  updateServiceProvider,
} from "../../db/console/identity_providers.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { changedDetails } from "../../domain/access/audit.ts";
import { AppError, notFoundError, validationError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import type { ServiceProvider } from "../../domain/console/service_provider.ts";
import type { ProviderKind } from "../../domain/people/identity_provider.ts";
import { offeredProvidersMax } from "../../domain/people/provider_limits.ts";
import { issuerFault, ownIssuers, redirectUri } from "../../domain/people/provider_metadata.ts";
import { isoTime } from "../../domain/time.ts";
import { writeAndRead, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { findProviderFault } from "../people/mod.ts";

/** Fields to change. Omitted fields keep their values. */
export interface ProviderChange extends StoredChange {
  /** Unencrypted. */
  readonly clientSecret?: string | undefined;
  /** Starts at 1. Larger numbers than the last position mean the last one. */
  readonly position?: number | undefined;
}

export interface NewProvider extends Omit<ProviderChange, "position"> {
  readonly slug: string;
  readonly kind: ProviderKind;
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

type Reading = Pick<SessionContext, "database" | "config">;

/** Lists all providers of the service in their order, at most {@linkcode offeredProvidersMax}. */
export async function listServiceProviders(context: Reading): Promise<ServiceProvider[]> {
  return (await findServiceProviders(context.database)).map((row) => toProvider(context, row));
}

/** @throws {AppError} `not_found`. */
export async function getServiceProvider(context: Reading, id: string): Promise<ServiceProvider> {
  const row = isId("idp", id)
    ? await context.database.readFirst<ServiceProviderRow>(selectServiceProvider(id))
    : undefined;
  if (row === undefined) throw notFoundError();
  return toProvider(context, row);
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
  actor: OperatorActor,
  { slug, kind, name, clientId, clientSecret, trustEmail = false, signUp = true, ...given }: NewProvider,
): Promise<ServiceProvider> {
  const issuer = await checkIssuer(context, kind, given.issuer);
  const id = newId("idp");
  const provider = { id, slug, kind, name, issuer, clientId, trustEmail, signUp };
  const stored = { ...provider, clientSecret: context.secrets.seal(id, clientSecret) };
  const { isMade, row } = await writeAndRead<ServiceProviderRow>(context, actor, {
    statement: insertServiceProvider(stored, { max: offeredProvidersMax, now: context.clock() }),
    entry: {
      action: "identity_provider.created",
      organizationId: null,
      target: { id, name },
      details: { issuer, ...(trustEmail ? { trust: "every email address" } : {}) },
    },
  }, selectServiceProvider(id));
  if (isMade) return toProvider(context, row());
  throw (await findServiceProviders(context.database)).length >= offeredProvidersMax
    ? new AppError(
      "limit_reached",
      `There can be at most ${offeredProvidersMax} providers. Delete one first.`,
    )
    : new AppError("provider_taken", "A provider with this slug already exists.");
}

/**
 * Changes a provider. Its slug and its kind stay: the provider has registered the one, and people are known by the other.
 *
 * @throws {AppError} `not_found`, `validation_failed`.
 */
export async function changeServiceProvider(
  context: SessionContext,
  actor: OperatorActor,
  { id, position, clientSecret, ...given }: ProviderChange & { readonly id: string },
): Promise<ServiceProvider> {
  const before = await getServiceProvider(context, id);
  const changes = changesOf(before, { ...given, position });
  if (clientSecret !== undefined) changes.push("client secret");
  if (changes.length === 0) return before;
  if (given.issuer !== undefined && given.issuer !== before.issuer) {
    await checkIssuer(context, before.kind, given.issuer);
  }
  const sealed = clientSecret === undefined ? undefined : context.secrets.seal(id, clientSecret);
  const { isMade, row } = await writeAndRead<ServiceProviderRow>(context, actor, {
    statement: updateServiceProvider(id, { ...given, clientSecret: sealed }, context.clock()),
    entry: {
      action: "identity_provider.changed",
      organizationId: null,
      target: { id, name: given.name ?? before.name },
      details: {
        change: changes.join(", "),
        ...changedDetails(before, given, ["name", "issuer", "clientId"]),
      },
    },
    after: ({ audited }) => position === undefined ? [] : [numberServiceProviders({ id, position }, audited)],
  }, selectServiceProvider(id));
  if (!isMade) throw notFoundError();
  return toProvider(context, row());
}

/** Deletes a provider. No one can sign in with it anymore; existing sessions stay. @throws {AppError} `not_found`. */
export async function deleteServiceProviderById(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
): Promise<ServiceProvider> {
  const provider = await getServiceProvider(context, id);
  const isDeleted = await writeChange(context, actor, {
    statement: deleteServiceProvider(id),
    entry: {
      action: "identity_provider.deleted",
      organizationId: null,
      target: { id, name: provider.name },
      details: { issuer: provider.issuer },
    },
    after: ({ audited }) => [numberServiceProviders(null, audited)],
  });
  if (!isDeleted) throw notFoundError();
  return provider;
}

/** The largest number of accounts that are counted before a provider is deleted. */
export const connectedCountMax = 10_000;

/** Counts the accounts that a provider signs in, up to {@linkcode connectedCountMax}, and those of them without a password. */
export async function countProviderAccounts(
  { database }: Pick<SessionContext, "database">,
  { issuer }: Pick<ServiceProvider, "issuer">,
): Promise<{ accounts: number; withoutPassword: number }> {
  return await countConnected(database, issuer, { max: connectedCountMax });
}

/** Returns an issuer that can be used, after a look-up. @throws {AppError} `validation_failed`. */
export async function checkIssuer(
  context: SessionContext,
  kind: ProviderKind,
  issuer = ownIssuers[kind],
): Promise<string> {
  const wrong = (message: string) => validationError([{ path: "issuer", message }]);
  if (issuer === undefined) throw wrong("is required for this kind.");
  const fault = issuerFault(kind, issuer);
  if (fault !== null) throw wrong(fault);
  const found = await findProviderFault(context, { kind, issuer, organizationId: null });
  if (found !== null) throw wrong(`can't be used: ${found}.`);
  return issuer;
}

/** Returns what differs, in words for the audit log. */
function changesOf(before: ServiceProvider, change: Omit<ProviderChange, "clientSecret">): string[] {
  const words = { name: "name", issuer: "issuer", clientId: "client ID", position: "position" } as const;
  const differs = (name: keyof typeof words | "trustEmail" | "signUp") =>
    change[name] !== undefined && change[name] !== before[name];
  return [
    ...(Object.keys(words) as (keyof typeof words)[]).filter(differs).map((name) =>
      name === "issuer" ? `issuer ${change.issuer}` : words[name]
    ),
    ...(differs("trustEmail") ? [`trusts every email address: ${change.trustEmail ? "yes" : "no"}`] : []),
    ...(differs("signUp") ? [`anyone can sign up: ${change.signUp ? "yes" : "no"}`] : []),
  ];
}

function toProvider({ config }: Pick<Reading, "config">, row: ServiceProviderRow): ServiceProvider {
  return {
    ...row,
    trustEmail: row.trustEmail === 1,
    signUp: row.signUp === 1,
    redirectUri: redirectUri(config.baseUrl, row.slug),
    createdAt: isoTime(row.createdAt),
    updatedAt: isoTime(row.updatedAt),
  };
}
