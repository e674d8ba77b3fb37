// Two-step sign-in of one's own account: setting an authenticator app up, recovery codes, turning it off again. Everything here
// takes a proof that is at most ten minutes old, but for looking.
import { insertAuditEvent } from "../../db/audit.ts";
import { endHalfDoneSignIns } from "../../db/sign_in/pending_sign_ins.ts";
import {
  countRecoveryCodes,
  deleteRecoveryCodes,
  replaceRecoveryCodes,
} from "../../db/sign_in/recovery_codes.ts";
import {
  confirmTotp,
  deleteTotpWithProof,
  findTotp,
  insertTotp,
  requireTotp,
} from "../../db/sign_in/totp.ts";
import type { SessionActor } from "../../domain/actor.ts";
import { AppError, recentAuthenticationError } from "../../domain/errors.ts";
import { parseSecondStepCode } from "../../domain/sign_in/recovery_code.ts";
import { isoTime } from "../../domain/meter/usage_window.ts";
import { qrCodeSvg } from "../../views/sign_in/qr_code.ts";
import type { SessionContext } from "../context.ts";
import type { Mail } from "../mail/mail.ts";
import { requireRecentAuthentication } from "./recent_authentication.ts";
import { newRecoveryCodes } from "./recovery_codes.ts";
import { newTotpSecret, totpStep, totpUrl } from "./totp.ts";

/** How somebody's two-step sign-in stands. Times are ISO 8601 UTC. */
export interface TwoStepStatus {
  readonly totp: {
    readonly enabled: boolean;
    readonly confirmedAt: string | null;
    /** Since when codes are not taken, after too many wrong ones, until the password is new. */
    readonly lockedAt: string | null;
  };
  readonly recoveryCodesLeft: number;
}

/** What an authenticator app needs, in three forms. */
export interface TotpSetUp {
  /** Base32, to type. */
  readonly secret: string;
  /** An `otpauth:` address. */
  readonly otpauthUrl: string;
  /** The same as a QR code, in SVG. */
  readonly qrCode: string;
}

/** The verbs of two-step sign-in. */
export interface TwoStepService {
  /** @returns How the person's two-step sign-in stands. */
  getTwoStep(actor: SessionActor): Promise<TwoStepStatus>;
  /** Begins, or begins anew, to set an authenticator app up. @throws {AppError} `proof_required`, `two_step_state`. */
  beginTotp(actor: SessionActor): Promise<TotpSetUp>;
  /** @returns What was begun and waits for its first code, or null. @throws {AppError} `proof_required`. */
  findTotpSetUp(actor: SessionActor): Promise<TotpSetUp | null>;
  /**
   * Turns two-step sign-in on with the first code of the app.
   *
   * @returns Recovery codes, for the only time.
   * @throws {AppError} `proof_required`, `invalid_code`, `two_step_state`.
   */
  confirmTotp(actor: SessionActor, code: string): Promise<string[]>;
  /** @returns Whether the latest proof of a session is younger than its person's two-step sign-in. */
  hasProofToTurnOff(actor: SessionActor): Promise<boolean>;
  /**
   * Turns two-step sign-in off. The proof must be younger than two-step sign-in: then it took a code or a passkey.
   *
   * @throws {AppError} `proof_required`, `two_step_state`.
   */
  turnOffTotp(actor: SessionActor): Promise<void>;
  /**
   * Makes new recovery codes; the old ones end.
   *
   * @returns The codes, for the only time.
   * @throws {AppError} `proof_required`, `two_step_state`.
   */
  replaceRecoveryCodes(actor: SessionActor): Promise<string[]>;
}

const isOn = "Two-step sign-in is on already. Turn it off first.";
const isOff = "Two-step sign-in is off.";

/** @param context See {@linkcode SessionContext}. */
export function createTwoStepService(context: SessionContext, mail: Mail): TwoStepService {
  const { config, database, clock, writeAs } = context;

  async function setUp(actor: SessionActor, secret: string): Promise<TotpSetUp> {
    const otpauthUrl = await totpUrl({ secret, host: config.baseUrl.host, email: actor.user.email });
    return { secret, otpauthUrl, qrCode: qrCodeSvg(otpauthUrl) };
  }

  return {
    async getTwoStep(actor) {
      const totp = await findTotp(database, actor.user.id);
      const { confirmedAt = null, lockedAt = null } = totp ?? {};
      return {
        totp: {
          enabled: confirmedAt !== null,
          confirmedAt: confirmedAt === null ? null : isoTime(confirmedAt),
          lockedAt: lockedAt === null ? null : isoTime(lockedAt),
        },
        recoveryCodesLeft: confirmedAt === null ? 0 : await countRecoveryCodes(database, actor.user.id),
      };
    },

    async beginTotp(actor) {
      const now = clock();
      requireRecentAuthentication(actor, now);
      const secret = await newTotpSecret();
      const [begun] = await writeAs(actor, [insertTotp({ userId: actor.user.id, secret, now })]);
      if (begun?.changes !== 1) throw stateError(isOn);
      return await setUp(actor, secret);
    },

    async findTotpSetUp(actor) {
      requireRecentAuthentication(actor, clock());
      const totp = await findTotp(database, actor.user.id);
      return totp?.confirmedAt === null ? await setUp(actor, totp.secret) : null;
    },

    async confirmTotp(actor, text) {
      const now = clock();
      requireRecentAuthentication(actor, now);
      const { id: userId, email: to, name } = actor.user;
      const totp = await findTotp(database, userId);
      if (totp === undefined) throw stateError("Begin to set two-step sign-in up first.");
      if (totp.confirmedAt !== null) throw stateError(isOn);
      const given = parseSecondStepCode(text);
      const { secret } = totp;
      const step = given?.kind === "totp" ? await totpStep({ secret, code: given.code }, now) : null;
      if (step === null) {
        const message =
          "This is not the code that the app shows now. If it stays so, check the device's clock.";
        throw new AppError("invalid_code", message, { details: [{ path: "code", message }] });
      }
      const { codes, codeHashes } = newRecoveryCodes();
      const audit = insertAuditEvent(actor, { action: "two_step.enabled" }, { now });
      const audited = { now, audited: audit.id };
      const [, written] = await writeAs(actor, [
        confirmTotp({ userId, secret, step, now }),
        audit.statement,
        ...replaceRecoveryCodes(userId, { codeHashes, audited: audit.id }),
        ...mail.outgoing({ kind: "two_step_enabled", to, fields: { name } }, audited),
      ]);
      if (written?.rows.length !== 1) {
        throw stateError("This was begun anew meanwhile. Scan the new QR code.");
      }
      mail.wake();
      return codes;
    },

    async hasProofToTurnOff({ user, authenticatedAt }) {
      const totp = await findTotp(database, user.id);
      return authenticatedAt > (totp?.confirmedAt ?? Infinity);
    },

    async turnOffTotp(actor) {
      const now = clock();
      requireRecentAuthentication(actor, now);
      const { id: userId, email: to, name } = actor.user;
      const audit = insertAuditEvent(actor, { action: "two_step.disabled" }, { now });
      const audited = { now, audited: audit.id };
      const [, written] = await writeAs(actor, [
        deleteTotpWithProof(userId, { sessionId: actor.id }),
        audit.statement,
        deleteRecoveryCodes(userId, audited),
        ...endHalfDoneSignIns(userId, audited),
        ...mail.outgoing({ kind: "two_step_disabled", to, fields: { name } }, audited),
      ]);
      if (written?.rows.length !== 1) {
        const totp = await findTotp(database, userId);
        throw (totp?.confirmedAt ?? null) === null ? stateError(isOff) : recentAuthenticationError();
      }
      mail.wake();
    },

    async replaceRecoveryCodes(actor) {
      const now = clock();
      requireRecentAuthentication(actor, now);
      const { id: userId, email: to, name } = actor.user;
      const { codes, codeHashes } = newRecoveryCodes();
      const audit = insertAuditEvent(actor, { action: "recovery_codes.replaced" }, { now });
      const audited = { now, audited: audit.id };
      const [, written] = await writeAs(actor, [
        requireTotp(userId),
        audit.statement,
        ...replaceRecoveryCodes(userId, { codeHashes, audited: audit.id }),
        ...mail.outgoing({ kind: "recovery_codes_replaced", to, fields: { name } }, audited),
      ]);
      if (written?.rows.length !== 1) throw stateError(isOff);
      mail.wake();
      return codes;
    },
  };
}

function stateError(message: string): AppError {
  return new AppError("two_step_state", message);
}
