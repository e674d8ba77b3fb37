// Signing up with a provider: who is admitted, and the new account.
import { domainPermits, isFreeIdentity, type UserCredentials } from "../../db/access/mod.ts";
import { sql, type Statement } from "../../db/engine/database.ts";
import { findInvitationTo } from "../../db/people/invitations.ts";
import type { ClientInfo, PersonActor } from "../../domain/access/actor.ts";
import { newId } from "../../domain/id.ts";
import type { Context } from "../context.ts";
import { companyAccount } from "./company_membership.ts";
import { type ProviderVisit, refuseVisit } from "./provider_visit.ts";
import { newToken } from "../access/mod.ts";
import { findInvitedByHash, type Invited, invitedAccount, newAccount, signUpClosedText } from "./sign_up.ts";

/** Someone to sign in. `before`: statements that must come first, and without which there is no session. */
export interface Entrant {
  readonly user: Pick<UserCredentials, "id" | "name" | "email" | "organizationId" | "hasTotp">;
  readonly before: readonly Statement[];
}

interface SignUp<T> {
  readonly visit: ProviderVisit;
  /** A canonical address that no account has yet. */
  readonly email: string;
  /** Adds the identity, and signs in. Returns null if nothing was written. */
  readonly enter: (entrant: Entrant) => Promise<T | null>;
}

/**
 * Creates an account without a password, and signs its user in. They join the organization that invited them; otherwise they get one
 * of their own, and an email that asks them to confirm the address if the provider doesn't vouch for it. Those who come from an
 * organization's own provider join that organization, even if sign-up is closed; the caller has checked their domain.
 *
 * @returns Null if the address or the identity was taken meanwhile.
 * @throws {AppError} `sign_up_closed`, `provider_rejected`, `invalid_token`, `organization_suspended`, `limit_reached`,
 *   `rate_limited`.
 */
export async function signUpWithProvider<T>(
  context: Context,
  client: ClientInfo,
  { visit, email, enter }: SignUp<T>,
): Promise<(T & { hasJoined: boolean }) | null> {
  const { credentials, mail, mailBudgets } = context;
  if (visit.provider.organizationId !== null) {
    if (!visit.claims.vouches) {
      const message =
        `${visit.provider.name} says that ${email} isn't confirmed there. Ask its administrators.`;
      throw await refuseVisit(context, client, { visit, reason: "address not confirmed", message });
    }
    const options = { visit, email, invited: null, isConfirmed: true, sendsEmail: false };
    const result = await credentials.provedSignUpFrom(
      client,
      async () => await enter(await newEntrant(context, client, options)),
    );
    return result && { ...result, hasJoined: visit.returnTo === null };
  }
  const invited = await admit(context, client, { visit, email });
  const isConfirmed = visit.claims.vouches || invited !== null;
  const create = async (sendsEmail: boolean) =>
    await enter(await newEntrant(context, client, { visit, email, invited, isConfirmed, sendsEmail }));
  const result = await credentials.provedSignUpFrom(client, async () => {
    if (isConfirmed || mail.mode === "none") return await create(false);
    return await mailBudgets.spendIfLeft({ kind: "verify_email", to: email }, create);
  });
  return result && { ...result, hasJoined: invited !== null };
}

/**
 * Returns the invitation that admits someone: that of the link which they followed, or else one to exactly this address if the provider
 * vouches for it. Returns null if no invitation is needed.
 */
async function admit(
  context: Context,
  client: ClientInfo,
  { visit, email }: { visit: ProviderVisit; email: string },
): Promise<Invited | null> {
  const { config: { signUp }, database, clock } = context;
  const { provider, claims, invitationHash } = visit;
  if (signUp !== "closed") {
    if (invitationHash !== null) {
      const invited = await findInvitedByHash(context, invitationHash);
      if (invited.email === email) return invited;
      const message =
        `This invitation is for another email address than that of your account at ${provider.name}.`;
      throw await refuseVisit(context, client, { visit, reason: "invitation for another address", message });
    }
    if (signUp === "open" && provider.signUp) return null;
    const invitation = claims.vouches ? await findInvitationTo(database, email, clock()) : undefined;
    if (invitation !== undefined) return { ...invitation, tokenHash: null };
  }
  throw await refuseVisit(context, client, {
    visit,
    reason: "sign-up closed",
    code: "sign_up_closed",
    message: `There is no account with the address ${email}. ${signUpClosedText(signUp !== "closed")}`,
  });
}

async function newEntrant(
  context: Context,
  client: ClientInfo,
  { visit, email, invited, isConfirmed, sendsEmail }: {
    visit: ProviderVisit;
    email: string;
    invited: Invited | null;
    isConfirmed: boolean;
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
  const organization = invited && { organizationId };
  const actor: PersonActor = { type: "session", user: { id, name }, organization, client };
  if (provider.organizationId !== null) {
    const before = companyAccount({ ...actor, organization: { organizationId } }, user, visit);
    return { user: { id, name, email, organizationId, hasTotp: 0 }, before };
  }
  const condition = sql`${isFreeIdentity(claims)} AND ${
    domainPermits(sql`${email}`, { providerId: sql`${provider.id}` })
  }`;
  const account = invited === null
    ? newAccount(actor, user, { id: organizationId, name: undefined, condition })
    : invitedAccount(actor, user, { ...invited, condition });
  const confirmation = sendsEmail
    ? mail.outgoing({ kind: "verify_email", to: email, subject: id, fields: { name } }, {
      now,
      audited: account.audited,
    })
    : [];
  return {
    user: { id, name, email, organizationId, hasTotp: 0 },
    before: [...account.statements, ...confirmation],
  };
}
