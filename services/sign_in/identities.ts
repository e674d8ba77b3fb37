// A person's own identities at providers: listing and disconnecting them, and what they may connect. provider_link.ts connects them.
import { findUserCredentialsById } from "../../db/account/users.ts";
import { findProviderBySlug } from "../../db/sign_in/identity_providers.ts";
import { deleteUnfinishedSignIns } from "../../db/sign_in/pending_sign_ins.ts";
import {
  deleteIdentity,
  findLinkableProviders,
  findListedIdentities,
  type ListedIdentityRow,
} from "../../db/sign_in/sign_in_methods.ts";
import type { SessionActor } from "../../domain/actor.ts";
import { lastSignInMethodError, notFoundError, validationError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { type Identity, identityName, usableProviders } from "../../domain/sign_in/identity.ts";
import type { OfferedProvider } from "../../domain/sign_in/identity_provider.ts";
import { offeredProvidersMax } from "../../domain/sign_in/provider_limits.ts";
import { isoTime } from "../../domain/time.ts";
import { writeChange } from "../change.ts";
import type { SessionContext } from "../context.ts";
import { requireRecentAuthentication } from "./recent_authentication.ts";

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
    findLinkableProviders(database, { userId: user.id, limit: offeredProvidersMax }),
  ]);
  return { hasPassword: credentials?.hasPassword === 1, identities, linkable };
}

/**
 * Finds a provider that the person may connect now.
 *
 * @throws {AppError} `proof_required`; `validation_failed` for a provider that can't sign the person in.
 */
export async function requireLinkable(context: SessionContext, actor: SessionActor, slug: string) {
  requireRecentAuthentication(actor, context.clock());
  const { identities, linkable } = await getSignInMethods(context, actor);
  // A second identity of a connected provider is possible, too.
  const offered = [...linkable, ...usableProviders(identities)].some((one) => one.slug === slug);
  const provider = offered ? await findProviderBySlug(context.database, slug) : undefined;
  if (provider !== undefined) return provider;
  throw validationError([{ path: "provider", message: "is not a provider that you can connect." }]);
}

/** Finds a provider with which the person can confirm that it's them, as they have connected it. @throws {AppError} `not_found`. */
export async function requireConnected({ database }: SessionContext, actor: SessionActor, slug: string) {
  const connected = usableProviders(await listIdentities({ database }, actor.user.id));
  const provider = connected.some((one) => one.slug === slug)
    ? await findProviderBySlug(database, slug)
    : undefined;
  if (provider === undefined) throw notFoundError();
  return provider;
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
    statement: deleteIdentity({ userId, id }),
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
