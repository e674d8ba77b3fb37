// Creating accounts on the command line: the first one, and others without an invitation.
import { insertChangeEvent } from "../../db/outbox/mod.ts";
import { insertMembership, type NewUser } from "../../db/people/mod.ts";
import { findEffectiveNumber, findUserCredentials, insertAuditEvent } from "../../db/access/mod.ts";
import { writeNamed } from "../../db/engine/database.ts";
import { insertJoiningUser } from "../../db/console/users.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { AppError, memberLimitError, validationError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import { requireEmail } from "../../domain/outbox/email.ts";
import type { Role } from "../../domain/access/session.ts";
import { accountWith, checkNewPassword, type NewAccount, newAccount } from "../people/mod.ts";
import type { SessionContext } from "../context.ts";
import { newToken } from "../access/mod.ts";
import { newPasswordLink, type PasswordLink } from "./passwords.ts";

interface NewUserInput {
  readonly email: string;
  readonly name: string;
  /** The name of their new organization, if they don't join an existing one. */
  readonly organizationName?: string | undefined;
  readonly join?: { readonly organizationId: string; readonly role: Role } | undefined;
  /** Without one, they choose it with a link. */
  readonly password?: string | undefined;
}

/** Creates an account with a confirmed address. @throws {AppError} `email_taken`, `limit_reached`, `validation_failed`. */
export async function createUser(
  context: SessionContext,
  actor: OperatorActor,
  input: NewUserInput,
): Promise<{ userId: string; organizationId: string; link: PasswordLink | null }> {
  const { database, credentials } = context;
  const { name, join, password } = input;
  const email = requireEmail(input.email);
  if (password !== undefined) await checkNewPassword(context, password, { email, name });
  // Without a password, a hash of a random one is stored: wrong sign-ins take the same time as for anyone else.
  const passwordHash = await credentials.hasher.hash(password ?? newToken());
  const now = context.clock();
  const hasPassword = password !== undefined;
  const user = { id: newId("usr"), email, emailVerifiedAt: now, name, passwordHash, hasPassword, now };
  const organizationId = join?.organizationId ?? newId("org");
  const link = password === undefined ? newPasswordLink(context, user.id, now) : null;
  const { audit } = await writeNamed({ write: (batch) => context.writeAs(actor, batch) }, {
    ...(join === undefined
      ? newAccount(actor, user, { id: organizationId, name: input.organizationName })
      : joiningAccount(actor, user, join)).batch,
    link: link === null ? [] : [link.statement],
  });
  if (audit.rows.length === 1) return { userId: user.id, organizationId, link: link?.link ?? null };
  if (await findUserCredentials(database, email) !== undefined) {
    throw new AppError("email_taken", `An account with the email address ${email} already exists.`);
  }
  const membersMax = join && await findEffectiveNumber(database, join.organizationId, "membersMax");
  if (membersMax !== undefined) throw memberLimitError(membersMax);
  throw validationError([{ path: "join", message: "is not the id of an organization." }]);
}

/** Creates an account in an existing organization. */
function joiningAccount(
  actor: OperatorActor,
  user: NewUser,
  { organizationId, role }: { organizationId: string; role: Role },
): NewAccount {
  const { id: userId, now } = user;
  const target = { id: userId, name: user.email };
  const entry = { action: "member.joined", organizationId, target, details: { role } } as const;
  return accountWith(actor, user, {
    organizationId,
    account: insertJoiningUser(user, organizationId),
    membership(audited) {
      const joined = insertAuditEvent(actor, entry, { now });
      return [
        insertMembership({ userId, organizationId, role, now }, audited),
        joined.statement,
        insertChangeEvent("member.added", { now, audited: joined.id }),
      ];
    },
  });
}
