// Accounts: signing up, alone or by an invitation, changing one's name, and deleting the account.
import { insertAuditEvent } from "../db/audit.ts";
import {
  deleteAccountTraces,
  leaveWithAccount,
  listAccountEnds,
  markAccountDeletable,
} from "../db/account_end.ts";
import type { Statement } from "../db/database.ts";
import { acceptInvitationStatement, findInvitationByToken } from "../db/invitations.ts";
import { deleteLinks } from "../db/link_tokens.ts";
import { hasLiveSession } from "../db/live_session.ts";
import { insertMembership } from "../db/memberships.ts";
import {
  endOrganization,
  insertOrganization,
  listOrganizations,
  markOwnOrganizationDeleted,
} from "../db/organizations.ts";
import { insertSession } from "../db/sessions.ts";
import {
  findUserCredentialsById,
  insertInvitedUser,
  insertUser,
  type NewUser,
  updateUserName,
} from "../db/users.ts";
import type { ClientInfo, PersonActor, SessionActor } from "../domain/actor.ts";
import { canonicalEmail } from "../domain/email.ts";
import {
  AppError,
  invalidTokenError,
  unauthenticatedError,
  unavailableError,
  validationError,
} from "../domain/errors.ts";
import { newId } from "../domain/id.ts";
import { accountMailsPerHourMax, membershipsPerUserMax } from "../domain/limits.ts";
import { ownOrganizationName } from "../domain/name.ts";
import type { ServiceContext } from "./context.ts";
import { type Credentials, rateLimited } from "./credentials.ts";
import type { MailService } from "./mail.ts";
import { requireProof } from "./proof.ts";
import { RateLimiter } from "./rate_limiter.ts";
import { newSession, wellFormedHash } from "./session_tokens.ts";
import { readSignedIn, type SignedIn } from "./sign_in.ts";

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
  /** Changes what the person is called. */
  renameUser(actor: SessionActor, name: string): Promise<void>;
  /** @returns The names of the organizations that end with the account, and of those that need another OWNER first. */
  previewDeletion(actor: SessionActor): Promise<{ ending: string[]; ownerless: string[] }>;
  /**
   * Deletes the account, and the organizations in which nobody else is. Keys that the person made anywhere are revoked.
   *
   * @throws {AppError} `proof_required`, `last_owner` while others would be left without an OWNER.
   */
  deleteAccount(actor: SessionActor): Promise<void>;
}

interface Invited {
  readonly id: string;
  readonly tokenHash: string;
  readonly organizationId: string;
  readonly email: string;
  readonly role: "OWNER" | "ADMIN" | "MEMBER";
}

const hourMs = 3_600_000;

/** @param context See {@linkcode ServiceContext}. */
export function createAccountService(
  context: ServiceContext,
  parts: { credentials: Credentials; mail: MailService },
): AccountService {
  const { config, database, clock } = context;
  const { credentials, mail } = parts;
  // Made and deleted again and again, accounts would write to somebody who wants none.
  const made = new RateLimiter({ points: accountMailsPerHourMax, windowMs: hourMs, clock });

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

  async function whyNotDeleted(actor: SessionActor): Promise<AppError> {
    if (!await hasLiveSession(database, actor.id)) return unauthenticatedError();
    const ends = await listAccountEnds(database, actor.user.id);
    return ends.some(({ hasOthers }) => hasOthers !== 0)
      ? new AppError(
        "last_owner",
        "You are the last owner of an organization that others belong to. Make somebody else an owner first.",
      )
      : unavailableError("Your organizations were changed at this moment. Try again.");
  }

  return {
    async signUp(input, client) {
      requireOpen(input);
      credentials.peekAddressBudget(client);
      const invited = await findInvited(input.invitationToken);
      const email = await checkInput(input, invited);
      const budget = made.peek(email);
      if (!budget.isAllowed) throw rateLimited(budget.resetMs);
      credentials.takeAddressBudget(client);
      const passwordHash = await credentials.hasher.hash(input.password);
      const now = clock();
      const { name } = input;
      const id = newId("usr");
      const user: NewUser = {
        id,
        email,
        emailVerifiedAt: invited === null ? null : now,
        name,
        passwordHash,
        now,
      };
      const actor = {
        type: "session",
        user: { id, name },
        organization: invited && { organizationId: invited.organizationId },
        client,
      } satisfies PersonActor;
      const { token, row } = newSession(id, { client, now });
      const [, audited] = await database.write([
        ...(invited === null
          ? aloneStatements(user, { actor, organizationName: input.organizationName, mail })
          : invitedStatements(user, { actor, invited })),
        insertSession(row, passwordHash),
      ]);
      if (audited?.rows.length !== 1) {
        if (invited !== null) await findInvited(input.invitationToken);
        throw new AppError("email_taken", "There is an account with this address already. Sign in instead.");
      }
      made.take(email);
      mail.wake();
      return await readSignedIn(context, token);
    },

    async renameUser(actor, name) {
      await database.write([
        updateUserName(actor.user.id, name),
        insertAuditEvent(actor, { action: "account.renamed", details: { from: actor.user.name, to: name } }, {
          now: clock(),
        }).statement,
      ]);
    },

    async previewDeletion(actor) {
      const ends = await listAccountEnds(database, actor.user.id);
      const names = (wanted: boolean) =>
        ends.filter(({ hasOthers }) => (hasOthers !== 0) === wanted).map(({ name }) => name);
      return { ending: names(false), ownerless: names(true) };
    },

    async deleteAccount(actor) {
      const now = clock();
      requireProof(actor, now);
      const found = await findUserCredentialsById(database, actor.user.id);
      if (found === undefined) throw unauthenticatedError();
      const account = insertAuditEvent(actor, {
        action: "account.deleted",
        target: { id: actor.user.id, name: found.email },
      }, { now });
      const organizations = await listOrganizations(database, actor.user.id);
      const alone = organizations.filter(({ members }) => members === 1);
      const ends = alone.flatMap(({ id, name }) => {
        const entry = { action: "organization.deleted", organizationId: id, target: { id, name } } as const;
        const audit = insertAuditEvent(actor, entry, { now });
        return [
          markOwnOrganizationDeleted({ id, now, audited: account.id }, actor.user.id),
          audit.statement,
          ...endOrganization(id, { now, audited: audit.id }),
        ];
      });
      const leaves = organizations.filter(({ members }) => members > 1).flatMap(({ id, role }) => {
        const { user } = actor;
        const entry = {
          action: "member.left",
          organizationId: id,
          target: { id: user.id, name: user.name },
          details: { role, keys: "revoked" },
        } as const;
        return [
          leaveWithAccount({ userId: user.id, organizationId: id }, account.id),
          insertAuditEvent(actor, entry, { now }).statement,
        ];
      });
      const bye = { kind: "account_deleted", to: found.email, fields: { name: found.name } } as const;
      const [, audited] = await database.write([
        markAccountDeletable(actor.user.id, {
          now,
          organizations: organizations.map(({ id }) => id),
          aloneIn: alone.length,
        }),
        account.statement,
        ...ends,
        ...leaves,
        ...mail.outgoing(bye, { now, audited: account.id }),
        ...deleteAccountTraces(actor.user.id, { now, audited: account.id }),
      ]);
      if (audited?.rows.length !== 1) throw await whyNotDeleted(actor);
      mail.wake();
    },
  };
}

/** Made with an organization of their own. The second statement is the audit entry. */
function aloneStatements(
  user: NewUser,
  { actor, organizationName, mail }: {
    actor: PersonActor;
    organizationName: string | undefined;
    mail: MailService;
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
    ...mail.outgoing(verify, { now, audited: account.id }),
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
    acceptInvitationStatement({ id: invited.id, tokenHash, userId, now }, {
      membershipsMax: membershipsPerUserMax,
    }),
    joined.statement,
    insertMembership({ userId, organizationId, role, now }, joined.id),
    ...deleteLinks(invited.id, { purposes: ["invitation"], audited: joined.id }),
  ];
}
