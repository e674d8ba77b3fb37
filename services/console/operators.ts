// Operator accounts, which only the command line adds and removes.
import { findUserCredentials, insertAuditEvent } from "../../db/access/mod.ts";
import { findOperators, markNotOperator, markOperator } from "../../db/console/users.ts";
import { findUsablePasskeys } from "../../db/people/mod.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { AppError, notFoundError } from "../../domain/errors.ts";
import { canonicalEmail } from "../../domain/outbox/email.ts";
import { isoTime } from "../../domain/time.ts";
import type { Context } from "../context.ts";

/** An operator; a line of `operator list --json`. Times in ISO 8601 UTC. */
interface ListedOperator {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly operatorSince: string;
  readonly disabledAt: string | null;
  /** An authenticator app is set up. Without one and without a passkey, the console stays closed. */
  readonly twoStep: boolean;
  readonly passkeys: number;
}

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
  const now = context.clock();
  const target = { id: user.id, name: user.email };
  const [added] = await context.database.write([
    markOperator(user.id, now),
    insertAuditEvent(actor, { action: "operator.added", organizationId: null, target }, { now }).statement,
  ]);
  const passkeys = await findUsablePasskeys(context.database, {
    userId: user.id,
    host: context.config.baseUrl.hostname,
  });
  const hasSecondFactor = user.hasTotp === 1 || passkeys.length > 0;
  return { wasOperator: added?.changes !== 1, hasSecondFactor };
}

/** Takes the operator flag away. The tokens that they created keep working. @throws {AppError} `not_found`. */
export async function removeOperator(
  context: Context,
  actor: OperatorActor,
  email: string,
): Promise<{ wasOperator: boolean }> {
  const user = await findUser(context, email);
  const now = context.clock();
  const target = { id: user.id, name: user.email };
  const [removed] = await context.database.write([
    markNotOperator(user.id),
    insertAuditEvent(actor, { action: "operator.removed", organizationId: null, target }, { now }).statement,
  ]);
  return { wasOperator: removed?.changes === 1 };
}

export async function listOperators({ database, config }: Context): Promise<ListedOperator[]> {
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
