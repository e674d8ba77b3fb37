// Accounts: signing up, alone or by an invitation.
import { insertAuditEvent } from "../../db/audit.ts";
import type { Statement } from "../../db/engine/database.ts";
import { findInvitationByToken, markInvitationAccepted } from "../../db/organization/invitations.ts";
import { deleteLinks } from "../../db/mail/link_tokens.ts";
import { insertMembership } from "../../db/organization/memberships.ts";
import { insertOrganization } from "../../db/organization/organizations.ts";
import { endReplacedSessions, insertSession } from "../../db/sign_in/sessions.ts";
import { insertInvitedUser, insertUser, type NewUser } from "../../db/account/users.ts";
import type { ClientInfo, PersonActor } from "../../domain/actor.ts";
import { canonicalEmail } from "../../domain/mail/email.ts";
import { AppError, invalidTokenError, validationError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import { membershipsPerUserMax, sessionsPerUserMax } from "../../domain/limits.ts";
import { ownOrganizationName } from "../../domain/name.ts";
import type { BaseContext } from "../base_context.ts";
import type { Credentials } from "../sign_in/credentials.ts";
import type { MailService } from "../mail/mail.ts";
import type { MailBudgets } from "../mail/mail_budgets.ts";
import { newSession, wellFormedHash } from "../sign_in/session_tokens.ts";
import { readSignedIn, type SignedIn } from "../sign_in/sign_in.ts";

/** What a person types to sign up. */
export interface SignUpInput {
  readonly name: string;
  /** Left out with an invitation: then it is the invited address. */
  readonly email?: string | undefined;
  readonly password: string;
  readonly organizationName?: string | undefined;
  /** From an invitation's link. */
  readonly invitationToken?: string | undefined;
}

/** The verbs of accounts. */
export interface AccountService {
  /**
   * Makes a user and signs them in. Alone they get an organization that they own, and a mail that asks them to prove the
   * address; with an invitation they join that organization, and the address is proved already.
   *
   * @throws {AppError} `sign_up_closed`, `validation_failed`, `email_taken`, `invalid_token`, `rate_limited`, `unavailable`.
   */
  signUp(input: SignUpInput, client: ClientInfo): Promise<SignedIn>;
}

interface Invited {
  readonly id: string;
  readonly tokenHash: string;
  readonly organizationId: string;
  readonly email: string;
  readonly role: "OWNER" | "ADMIN" | "MEMBER";
}

/** @param context See {@linkcode BaseContext}. */
export function createAccountService(
  context: BaseContext,
  parts: { credentials: Credentials; mail: MailService; budgets: MailBudgets },
): AccountService {
  const { config, database, clock } = context;
  const { credentials, mail, budgets } = parts;

  function requireOpen(input: SignUpInput): void {
    if (config.signUp === "open" || (config.signUp === "invite" && input.invitationToken !== undefined)) {
      return;
    }
    const message = config.signUp === "invite"
      ? "Accounts are made by invitation here. Ask somebody who uses this service already."
      : "Accounts are made by the people who run this service. Ask them for one.";
    throw new AppError("sign_up_closed", message);
  }

  async function findInvited(token: string | undefined): Promise<Invited | null> {
    if (token === undefined) return null;
    const tokenHash = wellFormedHash(token);
    const found = tokenHash === null ? undefined : await findInvitationByToken(database, tokenHash, clock());
    if (found === undefined || tokenHash === null) throw invalidTokenError();
    const { id, organizationId, email, role } = found;
    return { id, tokenHash, organizationId, email, role };
  }

  /** @returns The address to use. @throws {AppError} `validation_failed` with a line for each fault. */
  async function checkInput(input: SignUpInput, invited: Invited | null): Promise<string> {
    const given = input.email === undefined ? null : canonicalEmail(input.email);
    const email = invited !== null && input.email === undefined ? invited.email : given;
    const faults = [];
    if (email === null) {
      faults.push({ path: "email", message: "Enter an e-mail address such as ada@example.com." });
    } else if (invited !== null && email !== invited.email) {
      faults.push({ path: "email", message: "The invitation is for another address." });
    }
    faults.push(
      ...await credentials.newPasswordFaults(input.password, {
        email: email ?? "",
        name: input.name,
        path: "password",
      }),
    );
    if (email === null || faults.length > 0) throw validationError(faults);
    return email;
  }

  async function makeAccount(
    input: SignUpInput,
    { client, email, invited, asksToConfirm }: {
      client: ClientInfo;
      email: string;
      invited: Invited | null;
      asksToConfirm: boolean;
    },
  ): Promise<SignedIn> {
    const passwordHash = await credentials.hasher.hash(input.password);
    const now = clock();
    const { name, organizationName } = input;
    const id = newId("usr");
    const emailVerifiedAt = invited === null ? null : now;
    const user: NewUser = { id, email, emailVerifiedAt, name, passwordHash, now };
    const actor = {
      type: "session",
      user: { id, name },
      organization: invited && { organizationId: invited.organizationId },
      client,
    } satisfies PersonActor;
    const { token, row } = newSession(id, { client, now });
    const [, audited] = await database.write([
      ...(invited === null
        ? aloneStatements(user, { actor, organizationName, mail: asksToConfirm ? mail : null })
        : invitedStatements(user, { actor, invited })),
      insertSession(row, passwordHash),
      ...endReplacedSessions(row, { max: sessionsPerUserMax }),
    ]);
    if (audited?.rows.length !== 1) {
      if (invited !== null) await findInvited(input.invitationToken);
      throw new AppError("email_taken", "There is an account with this address already. Sign in instead.");
    }
    mail.wake();
    return await readSignedIn(context, token);
  }

  return {
    async signUp(input, client) {
      requireOpen(input);
      const invited = await findInvited(input.invitationToken);
      const email = await checkInput(input, invited);
      const make = (asksToConfirm: boolean) => makeAccount(input, { client, email, invited, asksToConfirm });
      return await credentials.signUpFrom(client, async () => {
        if (invited !== null || mail.mode === "none") return await make(false);
        // Without the email they can still ask for it, once their address may get one again.
        return await budgets.spendIfLeft({ kind: "verify_email", to: email }, make);
      });
    },
  };
}

/** Made with an organization of their own. The second statement is the audit entry. */
function aloneStatements(
  user: NewUser,
  { actor, organizationName, mail }: {
    actor: PersonActor;
    organizationName: string | undefined;
    /** Null: no email asks to confirm the address. */
    mail: MailService | null;
  },
): Statement[] {
  const { id: userId, now } = user;
  const organization = { id: newId("org"), name: organizationName ?? ownOrganizationName(user.name), now };
  const entry = { organizationId: organization.id, target: { id: userId, name: user.email } };
  const account = insertAuditEvent(actor, { ...entry, action: "account.created" }, { now });
  const made = insertAuditEvent(actor, {
    action: "organization.created",
    organizationId: organization.id,
    target: { id: organization.id, name: organization.name },
  }, { now });
  const verify = {
    kind: "verify_email",
    to: user.email,
    subject: userId,
    fields: { name: user.name },
  } as const;
  return [
    insertUser(user),
    account.statement,
    insertOrganization(organization, { userId, membershipsMax: membershipsPerUserMax }),
    made.statement,
    insertMembership({ userId, organizationId: organization.id, role: "OWNER", now }, made.id),
    ...mail?.outgoing(verify, { now, audited: account.id }) ?? [],
  ];
}

/** Made to join one. The second statement is the audit entry. */
function invitedStatements(
  user: NewUser,
  { actor, invited }: { actor: PersonActor; invited: Invited },
): Statement[] {
  const { id: userId, now } = user;
  const { organizationId, role, tokenHash } = invited;
  const entry = { organizationId, target: { id: userId, name: user.email } };
  const account = insertAuditEvent(actor, { ...entry, action: "account.created" }, { now });
  const joined = insertAuditEvent(actor, { ...entry, action: "member.joined", details: { role } }, { now });
  return [
    insertInvitedUser(user, tokenHash),
    account.statement,
    markInvitationAccepted({ id: invited.id, tokenHash, userId, now }, {
      membershipsMax: membershipsPerUserMax,
    }),
    joined.statement,
    insertMembership({ userId, organizationId, role, now }, joined.id),
    ...deleteLinks(invited.id, { purposes: ["invitation"], audited: joined.id }),
  ];
}
