// Decides what a completed visit to a provider leads to, from what was read. An identity that is known signs its user in, even if its
// address has changed. A new one is connected to an account only if the provider vouches for the address and the account has confirmed
// it. Nothing is read or written here, and the batch that follows has the same conditions.
import type { Config } from "../../config.ts";
import type { DomainProvider, UserCredentials } from "../../db/access/mod.ts";
import type { CompanyRoom } from "../../db/people/memberships.ts";
import type { InvitationOfLink, InvitationRow } from "../../db/people/invitations.ts";
import type { User } from "../../domain/access/session.ts";
import { AppError, invalidTokenError } from "../../domain/errors.ts";
import { requireJoinable } from "./accept_invitation.ts";
import { requirePermitted } from "./domain_rules.ts";
import { requireRoom } from "./provider_identity.ts";
import type { ProviderVisit, RefusedVisit } from "./provider_visit.ts";
import { type Invited, signUpClosedText } from "./sign_up.ts";

/** A completed visit of a browser. `signedInAs`: whose session it has; null without one. */
export type BrowserVisit = ProviderVisit & { readonly signedInAs: Pick<User, "id" | "email"> | null };

/** The stored facts that decide about a visit. */
export interface VisitFacts {
  /** The user of the identity, or else of its address. */
  readonly user: UserCredentials | undefined;
  /** True if the user has the identity. */
  readonly isConnected: boolean;
  /** The address of the user, or else of the identity. */
  readonly email: string | null;
  /** The provider of the address's domain. */
  readonly ofDomain: DomainProvider | undefined;
  /** True if the visited provider is believed for the address. */
  readonly isBelieved: boolean;
  /** The room in the organization whose own provider it is. */
  readonly room: CompanyRoom | undefined;
  /** The invitation whose link led here. */
  readonly followed: InvitationOfLink | undefined;
  /** An invitation to the address. */
  readonly invitation: InvitationRow | undefined;
}

/** An account to create. `invited`: null for one with an organization of its own, or that of the provider. */
export interface NewPerson {
  readonly act: "sign_up";
  readonly email: string;
  readonly invited: Invited | null;
  readonly isConfirmed: boolean;
}

type SignUpConfig = Pick<Config, "signUp" | "baseUrl">;

export type AdmittingPlan =
  | { readonly act: "enter" | "connect" | "take_back"; readonly user: UserCredentials }
  | NewPerson;
type SignInPlan = AdmittingPlan | RefusedVisit & { readonly act: "refuse" };

/**
 * Decides about a visit. An organization's own provider is believed only for addresses of its verified domains. No plan replaces the
 * session of someone else: a page of another site may have begun the visit.
 *
 * @returns A refusal if it is to be audited.
 * @throws {AppError} `sso_required`, `wrong_account`, `invalid_token`, `organization_suspended`, `limit_reached`.
 */
export function planSignIn(config: SignUpConfig, visit: BrowserVisit, facts: VisitFacts): SignInPlan {
  const { provider, signedInAs } = visit;
  const { email, user, isConnected } = facts;
  if (email === null) {
    const message = `${provider.name} didn't share a verified email address. Sign in another way.`;
    return { act: "refuse", reason: "no email address", message };
  }
  requirePermitted(config, facts.ofDomain, provider);
  if (!facts.isBelieved) {
    const message = `${provider.name} can't be used with the address ${email}. Sign in another way.`;
    return { act: "refuse", user: isConnected ? user : null, reason: "domain not verified", message };
  }
  const plan = user === undefined
    ? planSignUp(config, visit, { ...facts, email })
    : planForUser(visit, user, isConnected);
  if (plan.act === "refuse") return plan;
  if (signedInAs !== null && signedInAs.id !== user?.id) {
    const message = `You're signed in as ${signedInAs.email}. To sign in as ${email}, sign out first.`;
    throw new AppError("wrong_account", message);
  }
  requireRoom(facts.room);
  return plan;
}

function planForUser(
  { provider: { name }, claims: { vouches } }: BrowserVisit,
  user: UserCredentials,
  isConnected: boolean,
): SignInPlan {
  if (!isConnected && !vouches) {
    const message =
      `An account with the address ${user.email} already exists. Sign in with your password to connect ${name}.`;
    return { act: "refuse", user, reason: "not connected", code: "identity_not_linked", message };
  }
  if (user.disabledAt !== null) {
    const message = "This account is disabled. Contact the people who run this service.";
    return { act: "refuse", user, reason: "account disabled", message };
  }
  if (isConnected) return { act: "enter", user };
  return { act: user.emailVerifiedAt === null ? "take_back" : "connect", user };
}

/**
 * Decides who is admitted. People join the organization that invited them: by the link that they followed, or else if the provider
 * vouches for exactly the invited address. Those who come from an organization's own provider join it, even if sign-up is closed.
 */
function planSignUp(
  { signUp }: SignUpConfig,
  { provider, claims: { vouches }, invitationHash: tokenHash }: BrowserVisit,
  { email, followed, invitation }: VisitFacts & { readonly email: string },
): SignInPlan {
  const admitted = (invited: Invited | null): NewPerson => {
    return { act: "sign_up", email, invited, isConfirmed: vouches || invited !== null };
  };
  if (provider.organizationId !== null) {
    if (vouches) return admitted(null);
    const message = `${provider.name} says that ${email} isn't confirmed there. Ask its administrators.`;
    return { act: "refuse", reason: "address not confirmed", message };
  }
  if (signUp !== "closed" && tokenHash !== null) {
    if (followed === undefined) throw invalidTokenError();
    requireJoinable(followed);
    if (followed.email === email) return admitted({ ...followed, tokenHash });
    const message =
      `This invitation is for another email address than that of your account at ${provider.name}.`;
    return { act: "refuse", reason: "invitation for another address", message };
  }
  if (signUp === "open" && provider.signUp) return admitted(null);
  if (signUp !== "closed" && vouches && invitation !== undefined) {
    return admitted({ ...invitation, tokenHash: null });
  }
  const message = `There is no account with the address ${email}. ${signUpClosedText(signUp !== "closed")}`;
  return { act: "refuse", reason: "sign-up closed", code: "sign_up_closed", message };
}
