// Signing in and up with what a provider says: reads the facts, lets provider_plan.ts decide, and writes one batch.
import { endUnconfirmedAccess } from "../../db/people/account_takeback.ts";
import {
  domainPermits,
  findDomainProvider,
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
import type { CompanyRoom } from "../../db/people/company_membership.ts";
import { findInvitationByToken, findInvitationTo } from "../../db/people/invitations.ts";
import { insertPendingProviderSignIn } from "../../db/people/pending_sign_ins.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { emailDomain } from "../../domain/outbox/email.ts";
import type { OfferedProvider } from "../../domain/people/identity_provider.ts";
import { offeredProvidersMax } from "../../domain/people/provider_limits.ts";
import { newToken } from "../access/mod.ts";
import type { Context } from "../context.ts";
import { findRoom, joinCompany } from "./company_membership.ts";
import { afterNewPassword } from "./passwords.ts";
import { addIdentity, linkIdentity } from "./provider_identity.ts";
import { type BrowserVisit, type NewPerson, planSignIn, type VisitFacts } from "./provider_plan.ts";
import { type Entrant, newEntrant } from "./provider_sign_up.ts";
import { type ProviderVisit, refuseVisit, useOf } from "./provider_visit.ts";
import {
  accountChangedError,
  askSecondStep,
  createSession,
  personOf,
  type SecondStepRequired,
  type SignedIn,
} from "./sign_in.ts";

/** `hasJoined`: the account is new, and a member of the organization that invited it. */
export type ProviderSignIn = (SignedIn | SecondStepRequired) & { readonly hasJoined: boolean };

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
 * Signs in with a completed visit, or asks for the second step; signs up if the address has no account.
 *
 * @throws {AppError} `provider_rejected`, `identity_not_linked`, `sign_up_closed`, `rate_limited`, `unavailable`; as {@linkcode planSignIn}.
 */
export async function signInWithProvider(
  context: Context,
  client: ClientInfo,
  visit: BrowserVisit,
): Promise<ProviderSignIn> {
  for (let tries = 0; tries < triesMax; tries++) {
    const facts = await findFacts(context, visit);
    const plan = planSignIn(context.config, visit, facts);
    if (plan.act === "refuse") throw await refuseVisit(context, client, { visit, ...plan });
    const { room } = facts;
    const result = plan.act === "sign_up"
      ? await signUp(context, client, { visit, room, plan })
      : await enter(context, client, {
        visit,
        room,
        ...await entrantOf(context, client, { visit, ...plan }),
      });
    if (result !== null) return { hasJoined: false, ...result };
  }
  throw accountChangedError();
}

async function findFacts({ database, clock }: Context, visit: BrowserVisit): Promise<VisitFacts> {
  const { claims, invitationHash: hash, provider: { organizationId } } = visit;
  const identity = await findIdentity(database, claims);
  const user = identity === undefined
    ? await findUserCredentials(database, claims.email ?? "")
    : await findUserCredentialsById(database, identity.userId);
  const email = user?.email ?? claims.email;
  const now = clock();
  const canBeInvited = user === undefined && organizationId === null;
  const [ofDomain, isBelieved, room, followed, invitation] = await Promise.all([
    findDomainProvider(database, email ?? ""),
    organizationId === null || isProviderBelieved(database, useOf(visit), emailDomain(email ?? "")),
    findRoom(database, visit.provider, user?.id),
    canBeInvited && hash !== null ? findInvitationByToken(database, hash, now) : undefined,
    canBeInvited && email !== null ? findInvitationTo(database, email, now) : undefined,
  ]);
  const isConnected = identity !== undefined;
  return { user, isConnected, email, ofDomain, isBelieved, room, followed, invitation };
}

/**
 * Creates an account without a password, and signs its user in. They get an email that asks them to confirm the address if neither the
 * provider vouches for it nor an invitation was sent to it.
 *
 * @returns Null if the address or the identity was taken meanwhile.
 */
async function signUp(
  context: Context,
  client: ClientInfo,
  { visit, room, plan }: { visit: BrowserVisit; room: CompanyRoom | undefined; plan: NewPerson },
): Promise<ProviderSignIn | null> {
  const { credentials, mail, mailBudgets } = context;
  const { email, isConfirmed, invited } = plan;
  const create = async (sendsEmail: boolean) => {
    const entrant = await newEntrant(context, client, { visit, plan, sendsEmail });
    return await enter(context, client, { visit, room, ...entrant });
  };
  const result = await credentials.provedSignUpFrom(client, async () => {
    if (isConfirmed || mail.mode === "none") return await create(false);
    return await mailBudgets.spendIfLeft({ kind: "verify_email", to: email }, create);
  });
  const isOwn = visit.provider.organizationId !== null;
  return result && { ...result, hasJoined: isOwn ? visit.returnTo === null : invited !== null };
}

/** Returns an account to sign in, with what connects the identity. */
async function entrantOf(
  context: Context,
  client: ClientInfo,
  { visit, user, act }: {
    visit: ProviderVisit;
    user: UserCredentials;
    act: "enter" | "connect" | "take_back";
  },
): Promise<Entrant> {
  if (act === "enter") return { user, before: [] };
  if (act === "connect") return { user, before: linkIdentity(context, client, { visit, user }) };
  return { user: { ...user, hasTotp: 0 }, before: await takeBack(context, client, { visit, user }) };
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
    ...endUnconfirmedAccess(actor, { userId, ...audited }),
    unsetPassword(userId, { hash, ...audited }),
    addIdentity(visit, user, { condition: ifAudited(audit.id), now }).statement,
  ];
}

/** Returns null if the account or the provider has changed, and nothing was done. */
async function enter(
  context: Context,
  client: ClientInfo,
  { visit, room, user, before }: Entrant & { visit: BrowserVisit; room: CompanyRoom | undefined },
): Promise<SignedIn | SecondStepRequired | null> {
  const { provider, claims } = visit;
  const use = { ...claims, ...useOf(visit) };
  const details = { provider: provider.name };
  if (user.hasTotp) {
    const isNew = before.length > 0;
    // The second step connects the identity, and makes its person a member.
    return await askSecondStep(context, client, user, {
      insert: (pending) => insertPendingProviderSignIn(pending, { ...use, isNew }),
      details,
    });
  }
  const joining = joinCompany(client, { visit, user, room, now: context.clock() });
  return await createSession(context, client, user, {
    details,
    batchOf: (row, audit) => ({
      before,
      joining,
      session: insertProviderSession(row, use),
      audit: audit.statement,
      used: updateIdentityUsed(claims, { email: claims.email, now: row.now, audited: audit.id }),
    }),
  });
}
