// A person's own identities at providers: listing, connecting and disconnecting them, and confirming with one that it's them. Only the
// session that began a visit can complete it.
import {
  findIdentitiesOfUser,
  findIdentity,
  findUserCredentialsById,
  providerMaySignIn,
  updateIdentityUsed,
  updateSessionConfirmed,
} from "../../db/access/mod.ts";
import {
  deleteIdentity,
  findLinkableProviders,
  findListedIdentities,
  type ListedIdentityRow,
} from "../../db/people/sign_in_methods.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import { AppError, lastSignInMethodError, notFoundError, validationError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { recentAuthenticationMs } from "../../domain/limits.ts";
import { type Identity, identityName } from "../../domain/people/identity.ts";
import { identitiesPerUserMax } from "../../domain/people/provider_limits.ts";
import { isAuthorizePath, turnOffLinkPath } from "../../domain/people/return_to.ts";
import { isoTime } from "../../domain/time.ts";
import { requireRecentAuthentication, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { deleteUnfinishedSignIns } from "../../db/people/pending_sign_ins.ts";
import { addIdentity } from "./provider_identity.ts";
import { beginProviderVisit, type ProviderVisit, requireProvider, useOf } from "./provider_visit.ts";
import { sendTurnOffLink } from "./two_step.ts";

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
export async function getSignInMethods({ database }: SessionContext, { user }: SessionActor) {
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

type Visit = Pick<ProviderVisit, "userId" | "sessionId" | "provider" | "claims">;

/**
 * Connects an identity to the account of the session that began the visit. Email addresses aren't compared, because both sides were
 * proved: the account by a recent authentication, the identity by the provider.
 *
 * @throws {AppError} `wrong_account` for another session; `identity_taken`, `limit_reached`; `forbidden` if the provider is an
 *   organization's own and may not sign the person in; `unauthenticated` if the session has ended.
 */
export async function completeLink(
  context: SessionContext,
  actor: SessionActor | null,
  visit: Visit,
): Promise<void> {
  const own = requireSameSession(actor, visit);
  const condition = providerMaySignIn(useOf(visit));
  const change = addIdentity(visit, own.user, { condition, now: context.clock() });
  const isLinked = await writeChange(context, own, change);
  if (!isLinked) await requireLinked(context, own, visit);
}

/** Finds out why an identity wasn't added. Returns if it was connected to the same account before. */
async function requireLinked(
  { database }: SessionContext,
  { user }: SessionActor,
  { provider, claims }: Visit,
): Promise<void> {
  const found = await findIdentity(database, claims);
  if (found?.userId === user.id) return;
  if (found !== undefined) {
    const message = `This account at ${provider.name} is already connected to another account.`;
    throw new AppError("identity_taken", message);
  }
  if ((await findIdentitiesOfUser(database, user.id)).length >= identitiesPerUserMax) {
    const message =
      `An account can have up to ${identitiesPerUserMax} connected providers. Disconnect one first.`;
    throw new AppError("limit_reached", message);
  }
  throw new AppError(
    "forbidden",
    `${provider.name} can be connected only to accounts with a confirmed email address of its organization.`,
  );
}

/**
 * Confirms that the person in front of a session is its user: they came back from a provider with one of their identities. Someone who
 * lost their second step gets a link by email that turns it off, as they would with their password.
 *
 * @returns The page to continue at. Null if two-step sign-in is on: nothing was confirmed, and the visit must continue as a sign-in,
 *   which asks for the second step.
 * @throws {AppError} `wrong_account` for another session or another identity; `proof_required` if the provider didn't ask again; as
 *   `requestTurnOffLink` for the page of that link.
 */
export async function completeConfirmation(
  context: SessionContext,
  actor: SessionActor | null,
  visit: Visit & Pick<ProviderVisit, "returnTo">,
): Promise<string | null> {
  const { database, clock } = context;
  const own = requireSameSession(actor, visit);
  const { provider, claims } = visit;
  if ((await findIdentity(database, claims))?.userId !== own.user.id) {
    throw new AppError(
      "wrong_account",
      `You signed in to ${provider.name} with an account that isn't connected here. Use the connected one.`,
    );
  }
  const now = clock();
  requireFresh(visit, now);
  if (visit.returnTo === turnOffLinkPath) {
    await sendTurnOffLink(context, own, (_user, send) => send());
    return "/portal/account/two-step?done=link-sent";
  }
  const isConfirmed = await writeChange(context, own, {
    statement: updateSessionConfirmed(own.id, { now, use: { ...claims, ...useOf(visit) } }),
    entry: { action: "session.proved", details: { provider: provider.name } },
    after: ({ audited }) => [updateIdentityUsed(claims, { email: claims.email, now, audited })],
  });
  return isConfirmed ? visit.returnTo ?? "/portal/account" : null;
}

/**
 * Requires that someone has just authenticated at a provider. Whom we ask with `max_age` must say when (OpenID Connect Core, section
 * 3.1.2.1). Google and GitHub can't, which isn't enough for applications that ask for it.
 *
 * @throws {AppError} `proof_required`.
 */
function requireFresh(
  { provider: { kind, name }, claims: { authenticatedAt }, returnTo }: Pick<
    ProviderVisit,
    "provider" | "claims" | "returnTo"
  >,
  now: number,
): void {
  const cannotSay = kind === "google" || kind === "github";
  if (authenticatedAt === null && cannotSay && !isAuthorizePath(returnTo ?? "")) return;
  if (authenticatedAt !== null && authenticatedAt > now - recentAuthenticationMs) return;
  const message = authenticatedAt === null
    ? `${name} doesn't say when you signed in there, so it can't confirm that it's you. Use another way.`
    : `${name} didn't ask you to sign in again. Sign out there, then try again.`;
  throw new AppError("proof_required", message);
}

/** @throws {AppError} `wrong_account`. */
function requireSameSession(
  actor: SessionActor | null,
  { userId, sessionId }: Visit,
): SessionActor {
  if (actor !== null && actor.id === sessionId && actor.user.id === userId) return actor;
  throw new AppError(
    "wrong_account",
    "You signed out, or in to another session, before you came back. Start again in your account's settings.",
  );
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
