// Operator accounts, which only the command line adds and removes.
import { findUserCredentials, insertAuditEvent, type UserCredentials } from "../../db/access/mod.ts";
import { findOperators, updateOperator } from "../../db/console/users.ts";
import { findUsablePasskeys } from "../../db/people/mod.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { AppError, notFoundError } from "../../domain/errors.ts";
import { canonicalEmail } from "../../domain/outbox/email.ts";
import { isoTime } from "../../domain/time.ts";
import type { Context } from "../context.ts";

/**
 * Makes the account with an email address an operator, and returns if it was one already, and if it has a second factor, without
 * which the console stays closed.
 *
 * @throws {AppError} `not_found`; `validation_failed` if the account is disabled, or its address is not confirmed though a mail
 *   server is set: anyone can sign up with someone else's address.
 */
export async function addOperator(
  context: Context,
  actor: OperatorActor,
  email: string,
): Promise<{ wasOperator: boolean; hasSecondFactor: boolean }> {
  const user = await findUser(context, email);
  if (user.disabledAt !== null) {
    throw new AppError("validation_failed", `${user.email} is disabled. Enable the account first.`);
  }
  if (user.emailVerifiedAt === null && context.mail.mode === "smtp") {
    const message = `${user.email} is not confirmed. Its owner must open the link in our email first.`;
    throw new AppError("validation_failed", message);
  }
  const isAdded = await setOperator(context, actor, { user, isOperator: true });
  const passkeys = await findUsablePasskeys(context.database, {
    userId: user.id,
    host: context.config.baseUrl.hostname,
  });
  const hasSecondFactor = user.hasTotp === 1 || passkeys.length > 0;
  return { wasOperator: !isAdded, hasSecondFactor };
}

/** Takes the operator flag away. The tokens that they created keep working. @throws {AppError} `not_found`. */
export async function removeOperator(
  context: Context,
  actor: OperatorActor,
  email: string,
): Promise<{ wasOperator: boolean }> {
  const user = await findUser(context, email);
  return { wasOperator: await setOperator(context, actor, { user, isOperator: false }) };
}

/** Returns true if the account was changed. */
async function setOperator(
  { database, clock }: Context,
  actor: OperatorActor,
  { user, isOperator }: { user: UserCredentials; isOperator: boolean },
): Promise<boolean> {
  const now = clock();
  const action = isOperator ? "operator.added" : "operator.removed";
  const entry = { action, organizationId: null, target: { id: user.id, name: user.email } } as const;
  const [changed] = await database.write([
    updateOperator(user.id, isOperator ? now : null),
    insertAuditEvent(actor, entry, { now }).statement,
  ]);
  return changed?.changes === 1;
}

/** Lists operators, as lines of `operator list --json`. `twoStep`: an authenticator app is set up. */
export async function listOperators({ database, config }: Context) {
  const rows = await findOperators(database, config.baseUrl.hostname);
  return rows.map(({ id, email, name, operatorSince, disabledAt, hasTotp, passkeys }) => ({
    id,
    email,
    name,
    operatorSince: isoTime(operatorSince),
    disabledAt: isoTime(disabledAt),
    twoStep: hasTotp === 1,
    passkeys,
  }));
}

async function findUser({ database }: Context, typedEmail: string) {
  const email = canonicalEmail(typedEmail);
  const found = email === null ? undefined : await findUserCredentials(database, email);
  if (found === undefined) throw notFoundError();
  return found;
}
