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
import { findCompanyRoom, isCompanyJoinable } from "../../db/people/memberships.ts";
import { insertUser, type NewUser } from "../../db/people/users.ts";
import { findInvitationByToken, findInvitationTo } from "../../db/people/invitations.ts";
import { insertPendingProviderSignIn } from "../../db/people/pending_sign_ins.ts";
import type { ClientInfo, PersonActor } from "../../domain/access/actor.ts";
import { newId } from "../../domain/id.ts";
import { emailDomain } from "../../domain/outbox/email.ts";
import type { OfferedWays } from "../../domain/people/identity_provider.ts";
import { newToken } from "../access/mod.ts";
import type { Context } from "../context.ts";
import { afterNewPassword } from "./passwords.ts";
import { addIdentity, joinCompany, linkIdentity } from "./provider_identity.ts";
import {
  type AdmittingPlan,
  type BrowserVisit,
  type NewPerson,
  planSignIn,
  type VisitFacts,
} from "./provider_plan.ts";
import { type ProviderVisit, refuseVisit, useOf } from "./provider_visit.ts";
import { accountWith, invitedAccount, newAccount } from "./sign_up.ts";
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

export async function offeredWays({ database }: Context): Promise<OfferedWays> {
  const [providers, hasSingleSignOn] = await Promise.all([
    listSignInProviders(database),
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
    const act = async (sendsEmail: boolean) =>
      await enter(context, client, {
        visit,
        facts,
        ...await entrantOf(context, client, { visit, plan, sendsEmail }),
      });
    const result = plan.act === "sign_up" ? await asSignUp(context, client, { plan, act }) : await act(false);
    context.mail.wake();
    if (result !== null) return { ...result, hasJoined: hasJoined(visit, plan) };
  }
  throw accountChangedError();
}

/** Counts a sign-up. Its email asks to confirm an address that neither the provider vouches for nor an invitation was sent to. */
async function asSignUp<T>(
  { credentials, mail, mailBudgets }: Context,
  client: ClientInfo,
  { plan: { email, isConfirmed }, act }: { plan: NewPerson; act: (sendsEmail: boolean) => Promise<T> },
): Promise<T> {
  return await credentials.provedSignUpFrom(client, async () => {
    if (isConfirmed || mail.mode === "none") return await act(false);
    return await mailBudgets.spendIfLeft({ kind: "verify_email", to: email }, act);
  });
}

function hasJoined({ provider, returnTo }: ProviderVisit, plan: AdmittingPlan): boolean {
  if (plan.act !== "sign_up") return false;
  return provider.organizationId === null ? plan.invited !== null : returnTo === null;
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
    findCompanyRoom(database, visit.provider, user?.id ?? ""),
    canBeInvited && hash !== null ? findInvitationByToken(database, hash, now) : undefined,
    canBeInvited && email !== null ? findInvitationTo(database, email, now) : undefined,
  ]);
  const isConnected = identity !== undefined;
  return { user, isConnected, email, ofDomain, isBelieved, room, followed, invitation };
}

/** Someone to sign in. `before`: statements that must come first, and without which there is no session. */
interface Entrant {
  readonly user: Pick<UserCredentials, "id" | "name" | "email" | "organizationId" | "hasTotp">;
  readonly before: readonly Statement[];
}

/** Returns the account to sign in, with what creates it, or connects the identity. @param options `sendsEmail`: to a new one. */
async function entrantOf(
  context: Context,
  client: ClientInfo,
  { visit, plan, sendsEmail }: { visit: ProviderVisit; plan: AdmittingPlan; sendsEmail: boolean },
): Promise<Entrant> {
  if (plan.act === "sign_up") return await newEntrant(context, client, { visit, plan, sendsEmail });
  const { user, act } = plan;
  if (act === "enter") return { user, before: [] };
  if (act === "connect") return { user, before: linkIdentity(context, client, { visit, user }) };
  return { user: { ...user, hasTotp: 0 }, before: await takeBack(context, client, { visit, user }) };
}

/** Returns an account to create and sign in, with its identity. @param options `sendsEmail`: asks to confirm the address. */
async function newEntrant(
  context: Context,
  client: ClientInfo,
  { visit, plan: { email, invited, isConfirmed }, sendsEmail }: {
    visit: ProviderVisit;
    plan: NewPerson;
    sendsEmail: boolean;
  },
): Promise<Entrant> {
  const { credentials, mail } = context;
  // Wrong passwords take the same time as for anyone else.
  const passwordHash = await credentials.hasher.hash(newToken());
  const now = context.clock();
  const id = newId("usr");
  const { provider, claims } = visit;
  const { name } = claims;
  const organizationId = provider.organizationId ?? invited?.organizationId ?? newId("org");
  const emailVerifiedAt = isConfirmed ? now : null;
  const user = { id, email, emailVerifiedAt, name, passwordHash, hasPassword: false, now };
  const organization = invited === null && provider.organizationId === null ? null : { organizationId };
  const actor: PersonActor = { type: "session", user: { id, name }, organization, client };
  const permits = domainPermits(sql`${email}`, { providerId: sql`${provider.id}` });
  const condition = sql`${isFreeIdentity(claims)} AND ${permits}`;
  const account = provider.organizationId !== null
    ? companyAccount(actor, user, visit)
    : invited === null
    ? newAccount(actor, user, { id: organizationId, name: undefined, condition })
    : invitedAccount(actor, user, { ...invited, condition });
  const { audited, batch } = account;
  const confirmation = { kind: "verify_email", to: email, subject: id, fields: { name } } as const;
  const identity = addIdentity(visit, user, { condition: sql`true`, now });
  return {
    user: { id, name, email, organizationId, hasTotp: 0 },
    before: [
      ...Object.values(batch).flat(),
      ...(sendsEmail ? mail.outgoing(confirmation, { now, audited }) : []),
      identity.statement,
    ],
  };
}

/** Creates an account for someone who will join the organization whose own provider it is. They get none of their own. */
function companyAccount(actor: PersonActor, user: NewUser, visit: ProviderVisit) {
  const organizationId = visit.provider.organizationId ?? "";
  const isBelieved = providerIsBelieved(useOf(visit), emailDomain(user.email));
  const condition = sql`${isFreeIdentity(visit.claims)} AND ${isBelieved} AND ${
    isCompanyJoinable(organizationId)
  }`;
  return accountWith(actor, user, { organizationId, account: insertUser(user, condition) });
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
  { visit, facts: { room }, user, before }: Entrant & { visit: BrowserVisit; facts: VisitFacts },
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
