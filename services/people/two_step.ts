// Two-step sign-in of a person's own account: setting up an authenticator app, recovery codes, and turning it off. Changes require
// a recent authentication or, as a last resort, the password and an emailed link.
import { insertAuditEvent, type UserCredentials } from "../../db/access/mod.ts";
import { deleteLinks, findLinkToken, useTurnOffLink } from "../../db/outbox/mod.ts";
import { deleteUnfinishedSignIns } from "../../db/people/pending_sign_ins.ts";
import {
  countRecoveryCodes,
  deleteRecoveryCodes,
  insertRecoveryCodes,
} from "../../db/people/recovery_codes.ts";
import {
  deleteTotp,
  deleteTotpIfAuthenticated,
  findTotp,
  insertTotp,
  requireTotp,
  updateTotpConfirmed,
} from "../../db/people/totp.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import { AppError, invalidTokenError, recentAuthenticationError } from "../../domain/errors.ts";
import { parseSecondStepCode } from "../../domain/people/recovery_code.ts";
import { isoTime } from "../../domain/time.ts";
import { sessionSubject, wellFormedHash, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { findActingUser } from "./account.ts";
import { requireMayChangeFactors, requireOwnSecondFactor, withOwnPassword } from "./reauthentication.ts";
import { newRecoveryCodes } from "./second_step_codes.ts";
import { newTotpSecret, totpStep, totpUrl } from "./totp.ts";

/** Reads the state of the person's two-step sign-in. From `lockedAt` on, codes are rejected until the password changes. */
export async function getTwoStepStatus(context: SessionContext, actor: SessionActor) {
  const { confirmedAt = null, lockedAt = null } = await findTotp(context.database, actor.user.id) ?? {};
  return {
    totp: {
      enabled: confirmedAt !== null,
      confirmedAt: isoTime(confirmedAt),
      lockedAt: isoTime(lockedAt),
    },
    recoveryCodesLeft: confirmedAt === null ? 0 : await countRecoveryCodes(context.database, actor.user.id),
  };
}

/**
 * Starts setting up an authenticator app. Returns the new secret in base32, and its `otpauth:` URL.
 *
 * @throws {AppError} `proof_required`, `second_factor_required`, `two_step_state`.
 */
export async function beginTotp(context: SessionContext, actor: SessionActor) {
  const now = context.clock();
  await requireMayChangeFactors(context, actor);
  const secret = await newTotpSecret();
  const [begun] = await context.writeAs(actor, [insertTotp({ userId: actor.user.id, secret, now })]);
  if (begun?.changes !== 1) throw alreadyOnError();
  return await toSetup(context, actor, secret);
}

/** Finds the setup that waits for its first code. @throws {AppError} `proof_required`, `second_factor_required`. */
export async function findTotpSetup(context: SessionContext, actor: SessionActor) {
  await requireMayChangeFactors(context, actor);
  const totp = await findTotp(context.database, actor.user.id);
  return totp?.confirmedAt === null ? await toSetup(context, actor, totp.secret) : null;
}

/**
 * Turns on two-step sign-in with the app's first code. Returns the recovery codes, which can't be read again.
 *
 * @throws {AppError} `proof_required`, `second_factor_required`, `invalid_code`, `two_step_state`.
 */
export async function confirmTotp(context: SessionContext, actor: SessionActor, text: string) {
  const now = context.clock();
  await requireMayChangeFactors(context, actor);
  const { id: userId, email: to, name } = actor.user;
  const totp = await findTotp(context.database, userId);
  if (totp === undefined) throw stateError("Start setting up two-step sign-in first.");
  if (totp.confirmedAt !== null) throw alreadyOnError();
  const code = parseSecondStepCode(text);
  const { secret } = totp;
  const step = code?.kind === "totp" ? await totpStep({ secret, code: code.code }, now) : null;
  if (step === null) {
    const message = "This isn't the code your app shows now. If it keeps failing, check your device's clock.";
    throw new AppError("invalid_code", message, { details: [{ path: "code", message }] });
  }
  const { codes, codeHashes } = newRecoveryCodes();
  const isOn = await writeChange(context, actor, {
    statement: updateTotpConfirmed({ userId, secret, step, now }),
    entry: { action: "two_step.enabled" },
    after: ({ audited }) => insertRecoveryCodes(userId, { codeHashes, audited }),
    email: { kind: "two_step_enabled", to, fields: { name } },
  });
  if (!isOn) throw stateError("The setup was restarted. Scan the new QR code.");
  return codes;
}

/** True if the session was authenticated after two-step sign-in was turned on, so with a code or a passkey. */
export async function canTurnOffTwoStep(context: SessionContext, { user, authenticatedAt }: SessionActor) {
  const totp = await findTotp(context.database, user.id);
  return authenticatedAt > (totp?.confirmedAt ?? Infinity);
}

/**
 * Turns off two-step sign-in. The last authentication must be after it was turned on: then it took a code or a passkey.
 *
 * @throws {AppError} `proof_required`, `second_factor_required`, `two_step_state`.
 */
export async function turnOffTwoStep(context: SessionContext, actor: SessionActor): Promise<void> {
  await requireMayChangeFactors(context, actor);
  const { id: userId, email: to, name } = actor.user;
  const isOff = await writeChange(context, actor, {
    statement: deleteTotpIfAuthenticated(userId, { sessionId: actor.id }),
    entry: { action: "two_step.disabled" },
    after: (audited) => [deleteRecoveryCodes(userId, audited), ...deleteUnfinishedSignIns(userId, audited)],
    email: { kind: "two_step_disabled", to, fields: { name } },
  });
  if (isOff) return;
  const { totp } = await getTwoStepStatus(context, actor);
  throw totp.enabled ? recentAuthenticationError() : turnedOffError();
}

/** Replaces the recovery codes. @throws {AppError} `proof_required`, `second_factor_required`, `two_step_state`. */
export async function replaceRecoveryCodes(context: SessionContext, actor: SessionActor): Promise<string[]> {
  await requireMayChangeFactors(context, actor);
  const { id: userId, email: to, name } = actor.user;
  const { codes, codeHashes } = newRecoveryCodes();
  const isReplaced = await writeChange(context, actor, {
    statement: requireTotp(userId),
    entry: { action: "recovery_codes.replaced" },
    after: ({ audited }) => insertRecoveryCodes(userId, { codeHashes, audited }),
    email: { kind: "recovery_codes_replaced", to, fields: { name } },
  });
  if (!isReplaced) throw turnedOffError();
  return codes;
}

const linkPurpose = "turn_off_two_step";

/**
 * Emails a link that turns off two-step sign-in, for people who lost their device and their recovery codes.
 *
 * @throws {AppError} `mail_unavailable`, `second_factor_required`, `two_step_state`, `invalid_credentials`, `rate_limited`,
 *   `unavailable`.
 */
export async function requestTurnOffLink(context: SessionContext, actor: SessionActor, password: string) {
  await sendTurnOffLink(
    context,
    actor,
    (user, action) => withOwnPassword(context, actor, { user, password, action }),
  );
}

/**
 * Does the same for someone who proves in another way that it's them.
 *
 * @param prove Calls `send`, or throws.
 */
export async function sendTurnOffLink(
  context: SessionContext,
  actor: SessionActor,
  prove: (user: UserCredentials, send: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const { clock, credentials, mail, mailBudgets, writeAs } = context;
  mail.requireMail();
  await requireOwnSecondFactor(context, actor);
  const user = await findActingUser(context, actor);
  if (!user.hasTotp) throw turnedOffError();
  const { id, email: to, name } = user;
  const isConfirmed = user.emailVerifiedAt !== null;
  async function write(): Promise<void> {
    const now = clock();
    const entry = { action: "two_step.turn_off_requested" } as const;
    const audit = insertAuditEvent(actor, entry, { now, always: true });
    const audited = { now, audited: audit.id };
    await writeAs(actor, [
      audit.statement,
      credentials.forgetFailures(sessionSubject(actor)),
      ...deleteLinks(id, { purposes: [linkPurpose], audited: audit.id }),
      ...mail.outgoing({ kind: linkPurpose, to, subject: id, fields: { name } }, audited),
    ]);
  }
  await prove(user, () => mailBudgets.spend({ kind: linkPurpose, to, isConfirmed }, write));
  mail.wake();
}

/** Finds a link without using it up. Returns null if it doesn't work. */
export async function findTurnOffLink({ database, clock }: SessionContext, token: string) {
  const tokenHash = wellFormedHash(token) ?? "";
  const link = await findLinkToken(database, tokenHash, clock());
  return link?.purpose === linkPurpose ? { userId: link.subject, tokenHash } : null;
}

/** @throws {AppError} `invalid_token`, `wrong_account`, `second_factor_required`, `unauthenticated`. */
export async function turnOffTwoStepByLink(context: SessionContext, actor: SessionActor, token: string) {
  const link = await findTurnOffLink(context, token);
  if (link === null) throw invalidTokenError();
  const { userId, tokenHash } = link;
  if (userId !== actor.user.id) {
    throw new AppError("wrong_account", "This link is for another account. Sign in to that account first.");
  }
  await requireOwnSecondFactor(context, actor);
  const { email: to, name } = actor.user;
  const isOff = await writeChange(context, actor, {
    statement: useTurnOffLink({ userId, tokenHash, now: context.clock() }),
    entry: { action: "two_step.disabled", details: { method: "mailed link" } },
    after: (audited) => [
      deleteTotp(userId, audited),
      deleteRecoveryCodes(userId, audited),
      ...deleteUnfinishedSignIns(userId, audited),
      ...deleteLinks(userId, { purposes: [linkPurpose], audited: audited.audited }),
    ],
    email: { kind: "two_step_disabled", to, fields: { name } },
  });
  if (!isOff) throw invalidTokenError();
}

async function toSetup({ config }: SessionContext, actor: SessionActor, secret: string) {
  // A colon ends the issuer in the names that apps show.
  const issuer = `${config.brand.name.replaceAll(":", " ")} ${config.baseUrl.host}`;
  const otpauthUrl = await totpUrl({ secret, issuer, email: actor.user.email });
  return { secret, otpauthUrl };
}

function turnedOffError(): AppError {
  return stateError("Two-step sign-in is off.");
}

function alreadyOnError(): AppError {
  return stateError("Two-step sign-in is already on. Turn it off first.");
}

function stateError(message: string): AppError {
  return new AppError("two_step_state", message);
}
