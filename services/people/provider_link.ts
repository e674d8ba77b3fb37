// What a visit to a provider does for someone who is signed in: it connects the account there, or confirms that it's them. Only the
// session that began the visit can complete it.
import {
  findIdentitiesOfUser,
  findIdentity,
  providerMaySignIn,
  updateIdentityUsed,
  updateSessionConfirmed,
} from "../../db/access/mod.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import { AppError } from "../../domain/errors.ts";
import { recentAuthenticationMs } from "../../domain/limits.ts";
import { identitiesPerUserMax } from "../../domain/people/provider_limits.ts";
import { isAuthorizePath, turnOffLinkPath } from "../../domain/people/return_to.ts";
import { writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { addIdentity } from "./provider_identity.ts";
import { type ProviderVisit, useOf } from "./provider_visit.ts";
import { sendTurnOffLink } from "./two_step.ts";

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
