// Passkeys of one's own account: adding, renaming, removing. Everything here takes a proof that is at most ten minutes old, but
// for looking.
import { insertAuditEvent } from "../db/audit.ts";
import { hasLiveSession } from "../db/live_session.ts";
import {
  deletePasskey,
  findPasskey,
  findPasskeyByCredential,
  insertPasskey,
  listPasskeys,
  type PasskeyRow,
  updatePasskeyName,
} from "../db/passkeys.ts";
import type { SessionActor } from "../domain/actor.ts";
import { AppError, notFoundError, unauthenticatedError } from "../domain/errors.ts";
import { isId, newId } from "../domain/id.ts";
import { passkeysPerUserMax } from "../domain/limits.ts";
import type { Passkey } from "../domain/passkey.ts";
import { isoTime } from "../domain/usage_window.ts";
import type { ServiceContext } from "./context.ts";
import type { MailService } from "./mail.ts";
import { createChallenge, relyingParty, takeChallenge } from "./passkey_challenges.ts";
import { requireProof } from "./proof.ts";
import {
  type PasskeyOptions,
  type RegistrationAnswer,
  registrationOptions,
  verifyRegistration,
} from "./webauthn.ts";

/** The verbs of passkeys. */
export interface PasskeyService {
  /** @returns The person's passkeys, the oldest first. */
  listPasskeys(actor: SessionActor): Promise<Passkey[]>;
  /** @throws {AppError} `not_found`. */
  getPasskey(actor: SessionActor, id: string): Promise<Passkey>;
  /** @returns What the browser needs to make one. @throws {AppError} `proof_required`, `limit_reached`. */
  beginPasskey(actor: SessionActor): Promise<PasskeyOptions>;
  /**
   * Adds the passkey that the browser made.
   *
   * @throws {AppError} `proof_required`, `validation_failed` when the answer is not one to our challenge, `limit_reached`,
   *   `two_step_state` when somebody has it already.
   */
  addPasskey(actor: SessionActor, input: { name: string; answer: RegistrationAnswer }): Promise<Passkey>;
  /** @throws {AppError} `proof_required`, `not_found`. */
  renamePasskey(actor: SessionActor, passkey: { id: string; name: string }): Promise<Passkey>;
  /** @throws {AppError} `proof_required`, `not_found`. */
  removePasskey(actor: SessionActor, id: string): Promise<void>;
}

/** @param context See {@linkcode ServiceContext}. */
export function createPasskeyService(context: ServiceContext, mail: MailService): PasskeyService {
  const { config, database, clock } = context;
  const party = relyingParty(config);

  async function find(actor: SessionActor, id: string): Promise<PasskeyRow> {
    const found = isId("pas", id) ? await findPasskey(database, { userId: actor.user.id, id }) : undefined;
    if (found === undefined) throw notFoundError();
    return found;
  }

  return {
    listPasskeys: async (actor) => (await listPasskeys(database, actor.user.id)).map(shown),

    getPasskey: async (actor, id) => shown(await find(actor, id)),

    async beginPasskey(actor) {
      requireProof(actor, clock());
      const { id, email, name } = actor.user;
      const present = await listPasskeys(database, id);
      if (present.length >= passkeysPerUserMax) throw limitError();
      const challenge = await createChallenge(context, { purpose: "register", userId: id });
      return await registrationOptions(party, { challenge, user: { id, email, name }, present });
    },

    async addPasskey(actor, { name, answer }) {
      const now = clock();
      requireProof(actor, now);
      const { id: userId, email: to } = actor.user;
      const challenge = await takeChallenge(context, { purpose: "register", userId, answer });
      const made = challenge === null ? null : await verifyRegistration(party, { answer, challenge });
      if (made === null) {
        // A new password ends what was begun, and the session with it.
        if (!await hasLiveSession(database, actor.id)) throw unauthenticatedError();
        const message = "This passkey could not be checked, or it took too long. Try again.";
        throw new AppError("validation_failed", message, { details: [{ path: "response", message }] });
      }
      const passkey = { ...made, id: newId("pas"), userId, name, createdAt: now, lastUsedAt: null };
      const audit = insertAuditEvent(actor, {
        action: "passkey.added",
        target: { id: passkey.id, name },
      }, { now });
      const [, written] = await database.write([
        insertPasskey(passkey, { max: passkeysPerUserMax, sessionId: actor.id }),
        audit.statement,
        ...mail.outgoing(
          { kind: "passkey_added", to, fields: { name: actor.user.name, passkey: name } },
          { now, audited: audit.id },
        ),
      ]);
      if (written?.rows.length !== 1) {
        if (!await hasLiveSession(database, actor.id)) throw unauthenticatedError();
        if (await findPasskeyByCredential(database, made.credentialId) === undefined) throw limitError();
        throw new AppError("two_step_state", "This passkey was added before.");
      }
      mail.wake();
      return shown(passkey);
    },

    async renamePasskey(actor, { id, name }) {
      const now = clock();
      requireProof(actor, now);
      const found = await find(actor, id);
      const entry = {
        action: "passkey.renamed",
        target: { id, name },
        details: { from: found.name, to: name },
      } as const;
      await database.write([
        updatePasskeyName({ userId: actor.user.id, id, name }),
        insertAuditEvent(actor, entry, { now }).statement,
      ]);
      return shown(await find(actor, id));
    },

    async removePasskey(actor, id) {
      const now = clock();
      requireProof(actor, now);
      const { name: passkey } = await find(actor, id);
      const audit = insertAuditEvent(actor, {
        action: "passkey.removed",
        target: { id, name: passkey },
      }, { now });
      const [, written] = await database.write([
        deletePasskey({ userId: actor.user.id, id }),
        audit.statement,
        ...mail.outgoing(
          { kind: "passkey_removed", to: actor.user.email, fields: { name: actor.user.name, passkey } },
          { now, audited: audit.id },
        ),
      ]);
      if (written?.rows.length !== 1) throw notFoundError();
      mail.wake();
    },
  };
}

function shown({ id, name, createdAt, lastUsedAt }: PasskeyRow): Passkey {
  return {
    id,
    name,
    createdAt: isoTime(createdAt),
    lastUsedAt: lastUsedAt === null ? null : isoTime(lastUsedAt),
  };
}

function limitError(): AppError {
  return new AppError(
    "limit_reached",
    `An account can have ${passkeysPerUserMax} passkeys. Remove one first.`,
  );
}
