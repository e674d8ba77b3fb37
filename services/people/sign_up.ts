// Signing up, with a new organization or by invitation.
import { insertInvitedUser, insertUser, type NewUser } from "../../db/people/users.ts";
import { domainPermits, insertAuditEvent, insertSession } from "../../db/access/mod.ts";
import { sql, type Statement } from "../../db/engine/database.ts";
import { deleteLinks, insertChangeEvent } from "../../db/outbox/mod.ts";
import { type InvitationOfLink, markInvitationAccepted } from "../../db/people/invitations.ts";
import { insertMembership } from "../../db/people/memberships.ts";
import { insertOrganization } from "../../db/people/organizations.ts";
import type { Actor, ClientInfo, PersonActor } from "../../domain/access/actor.ts";
import { AppError, validationError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import { canonicalEmail, emailHint } from "../../domain/outbox/email.ts";
import { ownOrganizationName } from "../../domain/name.ts";
import type { Context } from "../context.ts";
import { findJoinable } from "./accept_invitation.ts";
import { requireDomainPermits } from "./domain_rules.ts";
import { wellFormedHash } from "../access/mod.ts";
import { createSession, type SignedIn } from "./sign_in.ts";

interface SignUpInput {
  readonly name: string;
  /** Optional with an invitation, which has an address. */
  readonly email?: string | undefined;
  readonly password: string;
  readonly organizationName?: string | undefined;
  /** The token in the invitation's link. */
  readonly invitationToken?: string | undefined;
}

/** An invitation that admits someone. `tokenHash`: of its link; null if a provider vouches for the address instead. */
export type Invited = Pick<InvitationOfLink, "id" | "organizationId" | "email" | "role"> & {
  tokenHash: string | null;
};

/**
 * Creates a user and signs them in. With an invitation they join its organization, and their email address counts as
 * confirmed. Otherwise they get an organization that they own, and an email that asks them to confirm the address.
 *
 * @throws {AppError} `sign_up_closed`, `sso_required`, `validation_failed`, `email_taken`, `invalid_token`, `organization_suspended`,
 *   `limit_reached`, `rate_limited`, `unavailable`.
 */
export async function signUp(context: Context, client: ClientInfo, input: SignUpInput): Promise<SignedIn> {
  requireOpenSignUp(context, input);
  const invited = await findInvited(context, input.invitationToken);
  const email = await checkInput(context, { ...input, invited });
  await requireDomainPermits(context, email);
  const create = (sendsEmail: boolean) =>
    createAccount(context, client, { ...input, email, invited, sendsEmail });
  return await context.credentials.signUpFrom(client, email, async () => {
    if (invited !== null || context.mail.mode === "none") return await create(false);
    // Without the email they can request another one when the address's budget allows it.
    return await context.mailBudgets.spendIfLeft({ kind: "verify_email", to: email }, create);
  });
}

function requireOpenSignUp({ config }: Context, { invitationToken }: SignUpInput): void {
  if (config.signUp === "open" || (config.signUp === "invite" && invitationToken !== undefined)) return;
  throw new AppError("sign_up_closed", signUpClosedText(config.signUp === "invite"));
}

export function signUpClosedText(byInvitation: boolean): string {
  return byInvitation
    ? "You need an invitation to sign up. Ask someone who already uses this service."
    : "Sign-up is closed. Ask the people who run this service for an account.";
}

async function findInvited(context: Context, token: string | undefined): Promise<Invited | null> {
  if (token === undefined) return null;
  const tokenHash = wellFormedHash(token);
  return { ...await findJoinable(context, tokenHash), tokenHash };
}

/** Returns the email address to use. @throws {AppError} `validation_failed` with every invalid field. */
async function checkInput(
  { credentials }: Context,
  { name, password, invited, ...input }: SignUpInput & { invited: Invited | null },
): Promise<string> {
  const email = input.email === undefined ? invited?.email ?? null : canonicalEmail(input.email);
  const faults = [];
  if (email === null) faults.push({ path: "email", message: emailHint });
  else if (invited !== null && email !== invited.email) {
    faults.push({ path: "email", message: "The invitation is for another email address." });
  }
  faults.push(
    ...await credentials.newPasswordFaults(password, { email: email ?? "", name, path: "password" }),
  );
  if (email === null || faults.length > 0) throw validationError(faults);
  return email;
}

async function createAccount(
  context: Context,
  client: ClientInfo,
  input: SignUpInput & { email: string; invited: Invited | null; sendsEmail: boolean },
): Promise<SignedIn> {
  const { name, email, invited, organizationName, sendsEmail } = input;
  const passwordHash = await context.credentials.hasher.hash(input.password);
  const now = context.clock();
  const id = newId("usr");
  const user = { id, email, emailVerifiedAt: invited === null ? null : now, name, passwordHash, now };
  const organization = invited && { organizationId: invited.organizationId };
  const actor: PersonActor = { type: "session", user: { id, name }, organization, client };
  const condition = domainPermits(sql`${email}`, {});
  const account = invited === null
    ? newAccount(actor, user, { id: newId("org"), name: organizationName, condition })
    : invitedAccount(actor, user, { ...invited, condition });
  const { audited } = account;
  const confirmation = { kind: "verify_email", to: email, subject: id, fields: { name } } as const;
  const signedUp = await createSession(context, client, { ...user, organizationId: null }, {
    batchOf: (row) => ({
      ...account.batch,
      confirmation: sendsEmail ? context.mail.outgoing(confirmation, { now, audited }) : [],
      session: insertSession(row, passwordHash),
    }),
  });
  context.mail.wake();
  if (signedUp !== null) return signedUp;
  if (invited !== null) await findInvited(context, input.invitationToken);
  await requireDomainPermits(context, email);
  throw new AppError("email_taken", "An account with this email address already exists. Sign in instead.");
}

/** The statements of a new account. Without its audit entry `audited`, none of them does anything. */
export type NewAccount = ReturnType<typeof accountWith>;

/** Returns the statements of a new account. @param options `account`: inserts it. `membership`: the statements that follow. */
export function accountWith(
  actor: Actor,
  { id, email, now }: Pick<NewUser, "id" | "email" | "now">,
  { organizationId, account, membership = () => [] }: {
    organizationId: string;
    account: Statement;
    membership?: (audited: string) => readonly Statement[];
  },
) {
  const entry = { action: "account.created", organizationId, target: { id, name: email } } as const;
  const audit = insertAuditEvent(actor, entry, { now });
  return { audited: audit.id, batch: { account, audit: audit.statement, membership: membership(audit.id) } };
}

/**
 * Creates an account with an organization of its own, which without a name is named after the person.
 *
 * @param options `condition`: a further condition.
 */
export function newAccount(
  actor: Actor,
  user: NewUser,
  { condition, ...organization }: { id: string; name: string | undefined; condition?: Statement },
): NewAccount {
  const { id: userId, now } = user;
  const { id, name = ownOrganizationName(user.name) } = organization;
  return accountWith(actor, user, {
    organizationId: id,
    account: insertUser(user, condition),
    membership() {
      const entry = { action: "organization.created", organizationId: id, target: { id, name } } as const;
      const created = insertAuditEvent(actor, entry, { now });
      return [
        insertOrganization({ id, name, userId, now }),
        created.statement,
        insertMembership({ userId, organizationId: id, role: "OWNER", now }, created.id),
        insertChangeEvent("organization.created", { now, audited: created.id }),
      ];
    },
  });
}

/** Creates an account that joins the organization of an invitation. @param invited `condition`: a further condition. */
export function invitedAccount(
  actor: Actor,
  user: NewUser,
  invited: Invited & { condition?: Statement },
): NewAccount {
  const { id: userId, now } = user;
  const { id, organizationId, role, tokenHash } = invited;
  return accountWith(actor, user, {
    organizationId,
    account: insertInvitedUser(user, invited),
    membership() {
      const target = { id: userId, name: user.email };
      const entry = { action: "member.joined", organizationId, target, details: { role } } as const;
      const joined = insertAuditEvent(actor, entry, { now });
      return [
        markInvitationAccepted({ id, tokenHash, userId, now }),
        joined.statement,
        insertMembership({ userId, organizationId, role, now }, joined.id),
        insertChangeEvent("member.added", { now, audited: joined.id }),
        ...deleteLinks(id, { purposes: ["invitation"], audited: joined.id }),
      ];
    },
  });
}
