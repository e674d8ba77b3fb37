// A person's own identities at providers: listing, connecting and disconnecting them. provider_link.ts completes what begins here.
import { findUserCredentialsById } from "../../db/access/mod.ts";
import {
  deleteIdentity,
  findLinkableProviders,
  findListedIdentities,
  type ListedIdentityRow,
} from "../../db/people/sign_in_methods.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import { lastSignInMethodError, notFoundError, validationError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { type Identity, identityName } from "../../domain/people/identity.ts";
import type { OfferedProvider } from "../../domain/people/identity_provider.ts";
import { isoTime } from "../../domain/time.ts";
import { requireRecentAuthentication, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { deleteUnfinishedSignIns } from "../../db/people/pending_sign_ins.ts";
import { beginProviderVisit, requireProvider } from "./provider_visit.ts";

/** Lists a user's identities, oldest first. */
export async function listIdentities(
  { database }: Pick<SessionContext, "database">,
  userId: string,
): Promise<Identity[]> {
  return (await findListedIdentities(database, userId)).map(toIdentity);
}

/** @throws {AppError} `not_found`. */
export async function getIdentity(
  context: SessionContext,
  actor: SessionActor,
  id: string,
): Promise<Identity> {
  const found = isId("idn", id)
    ? (await listIdentities(context, actor.user.id)).find((identity) => identity.id === id)
    : undefined;
  if (found === undefined) throw notFoundError();
  return found;
}

/** Reads whether the person has a password, and the providers that they use and could connect. */
export async function getSignInMethods({ database }: SessionContext, { user }: SessionActor): Promise<{
  hasPassword: boolean;
  identities: Identity[];
  linkable: OfferedProvider[];
}> {
  const [credentials, identities, linkable] = await Promise.all([
    findUserCredentialsById(database, user.id),
    listIdentities({ database }, user.id),
    findLinkableProviders(database, user.id),
  ]);
  return { hasPassword: credentials?.hasPassword === 1, identities, linkable };
}

interface OwnVisit {
  /** The provider's slug. */
  readonly provider: string;
  /** The page to return to, checked by the caller. */
  readonly returnTo: string;
  readonly browserTokens: readonly string[];
}

/**
 * Begins to connect a provider. Returns the address to visit, and the token for the browser's cookie.
 *
 * @throws {AppError} `proof_required`, `rate_limited`, `provider_unavailable`; `validation_failed` for a provider that can't sign the
 *   person in.
 */
export async function beginLink(context: SessionContext, actor: SessionActor, visit: OwnVisit) {
  requireRecentAuthentication(actor, context.clock());
  const { identities, linkable } = await getSignInMethods(context, actor);
  // A second identity of a connected provider is possible, too.
  const offered = [...linkable, ...identities.map(({ provider }) => provider)];
  if (!offered.some((one) => one?.slug === visit.provider)) {
    throw validationError([{ path: "provider", message: "is not a provider that you can connect." }]);
  }
  return await beginOwnVisit(context, actor, { ...visit, purpose: "link" });
}

/**
 * Begins to confirm that it's the person, with a provider that they have connected.
 *
 * @throws {AppError} `not_found`, `rate_limited`, `provider_unavailable`.
 */
export async function beginConfirmation(context: SessionContext, actor: SessionActor, visit: OwnVisit) {
  const identities = await listIdentities(context, actor.user.id);
  if (!identities.some(({ provider }) => provider?.slug === visit.provider)) throw notFoundError();
  return await beginOwnVisit(context, actor, { ...visit, purpose: "confirm" });
}

async function beginOwnVisit(
  context: SessionContext,
  actor: SessionActor,
  { provider: slug, ...visit }: OwnVisit & { purpose: "link" | "confirm" },
) {
  const provider = await requireProvider(context, slug);
  return await beginProviderVisit(context, actor.client, {
    ...visit,
    provider,
    session: actor,
    write: (batch) => context.writeAs(actor, batch),
  });
}

/**
 * Disconnects an identity. Sign-ins with it that wait for their second step end.
 *
 * @throws {AppError} `proof_required`, `not_found`; `last_sign_in_method` if the person couldn't sign in without it.
 */
export async function unlinkIdentity(
  context: SessionContext,
  actor: SessionActor,
  id: string,
): Promise<void> {
  requireRecentAuthentication(actor, context.clock());
  const identity = await getIdentity(context, actor, id);
  const { id: userId, email: to, name } = actor.user;
  const provider = identityName(identity);
  const isUnlinked = await writeChange(context, actor, {
    statement: deleteIdentity({ userId, id, host: context.config.baseUrl.hostname }),
    entry: { action: "identity.unlinked", target: { id, name: identity.email }, details: { provider } },
    after: (audited) => deleteUnfinishedSignIns(userId, audited),
    email: {
      kind: "identity_unlinked",
      to,
      fields: { name, provider, ...(identity.email === null ? {} : { identity: identity.email }) },
    },
  });
  if (isUnlinked) return;
  await getIdentity(context, actor, id);
  throw lastSignInMethodError();
}

function toIdentity({ slug, name, kind, ...row }: ListedIdentityRow): Identity {
  const provider = slug === null || name === null || kind === null ? null : { slug, name, kind };
  const { id, issuer, email, createdAt, lastUsedAt } = row;
  return { id, provider, issuer, email, createdAt: isoTime(createdAt), lastUsedAt: isoTime(lastUsedAt) };
}
