// Signing in and up with what a provider says. An identity that is known signs its user in, even if its address has changed. A new one
// is connected to an account only if the provider vouches for the address and the account has confirmed it.
import { endUnconfirmedAccess } from "../../db/people/account_takeback.ts";
import {
  deleteExpiredSessions,
  domainPermits,
  endReplacedSessions,
  findIdentity,
  findUserCredentials,
  findUserCredentialsById,
  hasCompanyProviders,
  ifAudited,
  insertAuditEvent,
  insertProviderSession,
  isFreeIdentity,
  isProviderBelieved,
  listSignInProviders,
  providerIsBelieved,
  takeUserBack,
  unsetPassword,
  updateIdentityUsed,
  type UserCredentials,
} from "../../db/access/mod.ts";
import { sql, type Statement } from "../../db/engine/database.ts";
import { deleteLinks } from "../../db/outbox/mod.ts";
import { insertPendingProviderSignIn } from "../../db/people/pending_sign_ins.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { AppError } from "../../domain/errors.ts";
import { secondStepTimeoutMs, sessionsPerUserMax } from "../../domain/limits.ts";
import { emailDomain } from "../../domain/outbox/email.ts";
import type { OfferedProvider } from "../../domain/people/identity_provider.ts";
import type { User } from "../../domain/access/session.ts";
import { offeredProvidersMax } from "../../domain/people/provider_limits.ts";
import { afterNewPassword } from "./passwords.ts";
import { type Entrant, signUpWithProvider } from "./provider_sign_up.ts";
import type { Context } from "../context.ts";
import { requireDomainPermits } from "./domain_rules.ts";
import { joinCompany } from "./company_membership.ts";
import { addIdentity, linkIdentity, useOf } from "./provider_identity.ts";
import { type ProviderVisit, refuseVisit } from "./provider_visit.ts";
import { hashToken, newSession, newToken, sessionBounds } from "../access/mod.ts";
import {
  accountChangedError,
  personOf,
  type SecondStepRequired,
  selectSignedIn,
  type SignedIn,
  signedIn,
} from "./sign_in.ts";

/** `hasJoined`: the account is new, and a member of the organization that invited it. */
export type ProviderSignIn = (SignedIn | SecondStepRequired) & { readonly hasJoined: boolean };

/** A completed visit of a browser. `signedInAs`: whose session it has; null without one. */
export type BrowserVisit = ProviderVisit & { readonly signedInAs: Pick<User, "id" | "email"> | null };

/** Ways to sign in that pages offer. */
export interface OfferedWays {
  readonly providers: readonly OfferedProvider[];
  /** True if any organization has a provider of its own. */
  readonly hasSingleSignOn: boolean;
}

export async function offeredWays({ database }: Context): Promise<OfferedWays> {
  const [providers, hasSingleSignOn] = await Promise.all([
    listSignInProviders(database, { limit: offeredProvidersMax }),
    hasCompanyProviders(database),
  ]);
  return { providers, hasSingleSignOn };
}

/** Attempts to decide, as each can lose a race against another sign-in or change. */
const triesMax = 3;

/**
 * Signs in with a completed visit, or asks for the second step; signs up if the address has no account. Never replaces the session of
 * someone else: a page of another site may have begun the visit.
 *
 * @throws {AppError} `provider_rejected`, `identity_not_linked`, `sign_up_closed`, `invalid_token`, `organization_suspended`,
 *   `limit_reached`, `rate_limited`, `unavailable`; `wrong_account` if someone else is signed in.
 */
export async function signInWithProvider(
  context: Context,
  client: ClientInfo,
  visit: BrowserVisit,
): Promise<ProviderSignIn> {
  for (let tries = 0; tries < triesMax; tries++) {
    const result = await decide(context, client, visit);
    if (result !== null) return result;
  }
  throw accountChangedError();
}

async function decide(
  context: Context,
  client: ClientInfo,
  visit: BrowserVisit,
): Promise<ProviderSignIn | null> {
  const { claims } = visit;
  const identity = await findIdentity(context.database, claims);
  if (identity !== undefined) {
    const user = await findUserCredentialsById(context.database, identity.userId);
    if (user === undefined) return null;
    await requireDomainPermits(context, user.email, visit.provider);
    await requireBelieved(context, client, { visit, email: user.email, user });
    await requireEnabled(context, client, { visit, user });
    return joinedNot(await enter(context, client, { visit, user, before: [] }));
  }
  const { email } = claims;
  if (email === null) {
    const message = `${visit.provider.name} didn't share a verified email address. Sign in another way.`;
    throw await refuseVisit(context, client, { visit, reason: "no email address", message });
  }
  await requireDomainPermits(context, email, visit.provider);
  await requireBelieved(context, client, { visit, email, user: null });
  const user = await findUserCredentials(context.database, email);
  if (user !== undefined) return joinedNot(await connect(context, client, { visit, user }));
  return await signUpWithProvider(context, client, {
    visit,
    email,
    enter: ({ user, before }) => {
      const { insert } = addIdentity(visit, { userId: user.id, condition: sql`true`, now: context.clock() });
      return enter(context, client, { visit, user, before: [...before, insert] });
    },
  });
}

function joinedNot<T>(result: T | null): (T & { hasJoined: false }) | null {
  return result && { ...result, hasJoined: false };
}

/** An organization's own provider is believed only for addresses of the organization's verified domains. */
async function requireBelieved(
  context: Context,
  client: ClientInfo,
  { visit, email, user }: { visit: ProviderVisit; email: string; user: UserCredentials | null },
): Promise<void> {
  const { organizationId, name } = visit.provider;
  if (
    organizationId === null || await isProviderBelieved(context.database, useOf(visit), emailDomain(email))
  ) return;
  const message = `${name} can't be used with the address ${email}. Sign in another way.`;
  throw await refuseVisit(context, client, { visit, user, reason: "domain not verified", message });
}

async function requireEnabled(
  context: Context,
  client: ClientInfo,
  { visit, user }: { visit: ProviderVisit; user: UserCredentials },
): Promise<void> {
  if (user.disabledAt === null) return;
  const message = "This account is disabled. Contact the people who run this service.";
  throw await refuseVisit(context, client, { visit, user, reason: "account disabled", message });
}

/** Connects a new identity to the account that has its address, and signs in. */
async function connect(
  context: Context,
  client: ClientInfo,
  { visit, user }: { visit: BrowserVisit; user: UserCredentials },
) {
  const { name } = visit.provider;
  if (!visit.claims.vouches) {
    throw await refuseVisit(context, client, {
      visit,
      user,
      reason: "not connected",
      code: "identity_not_linked",
      message:
        `An account with the address ${user.email} already exists. Sign in with your password to connect ${name}.`,
    });
  }
  await requireEnabled(context, client, { visit, user });
  if (user.emailVerifiedAt === null) {
    const before = await takeBack(context, client, { visit, user });
    return await enter(context, client, { visit, user: { ...user, hasTotp: 0 }, before });
  }
  return await enter(context, client, {
    visit,
    user,
    before: linkIdentity(context, client, { visit, user }),
  });
}

/** Ends all access that someone got to the account before the owner of its address proved to be it (decision 22). */
async function takeBack(
  context: Context,
  client: ClientInfo,
  { visit, user }: { visit: ProviderVisit; user: UserCredentials },
): Promise<Statement[]> {
  const { id: userId, email } = user;
  const hash = await context.credentials.hasher.hash(newToken());
  const now = context.clock();
  const actor = personOf(user, client);
  const { provider: { name: provider } } = visit;
  const entry = {
    action: "account.taken_back",
    target: { id: userId, name: email },
    details: { provider },
  } as const;
  const audit = insertAuditEvent(actor, entry, { now });
  const audited = { now, audited: audit.id };
  const condition = sql`${isFreeIdentity(visit.claims)} AND ${
    providerIsBelieved(useOf(visit), emailDomain(email))
  } AND ${domainPermits(sql`u.email`, { providerId: sql`${visit.provider.id}` })}`;
  return [
    takeUserBack({ userId, email, now }, condition),
    audit.statement,
    ...afterNewPassword(context, user, { ...audited, isTakenBack: true, provider }),
    ...deleteLinks(userId, { purposes: ["verify_email"], audited: audit.id }),
    ...endUnconfirmedAccess(actor, { userId, ...audited }),
    unsetPassword(userId, { hash, ...audited }),
    addIdentity(visit, { userId, condition: ifAudited(audit.id), now }).insert,
  ];
}

/** Returns null if the account or the provider has changed, and nothing was done. */
async function enter(
  context: Context,
  client: ClientInfo,
  { visit, user, before }: Entrant & { visit: BrowserVisit },
): Promise<SignedIn | SecondStepRequired | null> {
  const { signedInAs } = visit;
  if (signedInAs !== null && signedInAs.id !== user.id) {
    const message = `You're signed in as ${signedInAs.email}. To sign in as ${user.email}, sign out first.`;
    throw new AppError("wrong_account", message);
  }
  const joining = await joinCompany(context, client, { visit, user });
  const now = context.clock();
  const { provider, claims } = visit;
  const first = [...before, ...joining];
  const use = { ...claims, ...useOf(visit) };
  const details = { provider: provider.name };
  const { email } = claims;
  const more = deleteExpiredSessions(user.id, sessionBounds(context.config, now));
  if (user.hasTotp) {
    const token = newToken();
    const expiresAt = now + secondStepTimeoutMs;
    const audit = insertAuditEvent({ type: "anonymous", client }, {
      action: "session.second_step_asked",
      organizationId: user.organizationId,
      target: { id: user.id, name: user.email },
      details,
    }, { now });
    // The second step connects the identity, and makes its person a member.
    const pending = { tokenHash: hashToken(token), userId: user.id, expiresAt };
    const results = await context.database.write([
      insertPendingProviderSignIn(pending, { ...use, isNew: before.length > 0 }),
      audit.statement,
      more,
    ]);
    return results[1]?.rows.length === 1 ? { secondStep: { token, expiresAt } } : null;
  }
  const { token, row } = newSession(user.id, { client, now });
  const audit = insertAuditEvent(personOf(user, client), { action: "session.created", details }, { now });
  const results = await context.database.write([
    ...first,
    insertProviderSession(row, use),
    audit.statement,
    updateIdentityUsed(claims, { email, now, audited: audit.id }),
    more,
    ...endReplacedSessions(row, { max: sessionsPerUserMax }),
    selectSignedIn(context, token, now),
  ]);
  if (results[first.length + 1]?.rows.length !== 1) return null;
  context.mail.wake();
  return signedIn(context, client, { results, token });
}
