// Passkeys of one's own account: adding, renaming, removing. Everything here takes a proof that is at most ten minutes old, but
// for looking.
import { insertAuditEvent } from "../../db/audit.ts";
import type { Statement } from "../../db/engine/database.ts";
import {
  deletePasskey,
  findPasskey,
  findPasskeyByCredential,
  insertPasskey,
  listPasskeys,
  type PasskeyRow,
  updatePasskeyName,
} from "../../db/sign_in/passkeys.ts";
import type { SessionActor } from "../../domain/actor.ts";
import { AppError, notFoundError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { passkeysPerUserMax } from "../../domain/limits.ts";
import type { Passkey } from "../../domain/sign_in/passkey.ts";
import { isoTime } from "../../domain/meter/usage_window.ts";
import type { SessionContext } from "../context.ts";
import type { Mail } from "../mail/mail.ts";
import { createChallenge, relyingParty, takeChallenge } from "./passkey_challenges.ts";
import { requireRecentAuthentication } from "./recent_authentication.ts";
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

/** @param context See {@linkcode SessionContext}. */
export function createPasskeyService(context: SessionContext, mail: Mail): PasskeyService {
  const { config, database, clock, writeAs } = context;
  const party = relyingParty(config);

  async function find(actor: SessionActor, id: string): Promise<PasskeyRow> {
    const found = isId("pas", id) ? await findPasskey(database, { userId: actor.user.id, id }) : undefined;
    if (found === undefined) throw notFoundError();
    return found;
  }

  const writerOf = (actor: SessionActor, now: number) => ({
    write: (batch: readonly Statement[]) => writeAs(actor, batch),
    now,
  });

  return {
    listPasskeys: async (actor) => (await listPasskeys(database, actor.user.id)).map(shown),

    getPasskey: async (actor, id) => shown(await find(actor, id)),

    async beginPasskey(actor) {
      const now = clock();
      requireRecentAuthentication(actor, now);
      const { id, email, name } = actor.user;
      const present = await listPasskeys(database, id);
      if (present.length >= passkeysPerUserMax) throw limitError();
      const challenge = await createChallenge(writerOf(actor, now), { purpose: "register", userId: id });
      return await registrationOptions(party, { challenge, user: { id, email, name }, present });
    },

    async addPasskey(actor, { name, answer }) {
      const now = clock();
      requireRecentAuthentication(actor, now);
      const { id: userId, email: to } = actor.user;
      const challenge = await takeChallenge(writerOf(actor, now), { purpose: "register", userId, answer });
      const made = challenge === null ? null : await verifyRegistration(party, { answer, challenge });
      if (made === null) {
        const message = "This passkey could not be checked, or it took too long. Try again.";
        throw new AppError("validation_failed", message, { details: [{ path: "response", message }] });
      }
      const passkey = { ...made, id: newId("pas"), userId, name, createdAt: now, lastUsedAt: null };
      const audit = insertAuditEvent(actor, {
        action: "passkey.added",
        target: { id: passkey.id, name },
      }, { now });
      const [, written] = await writeAs(actor, [
        insertPasskey(passkey, { max: passkeysPerUserMax }),
        audit.statement,
        ...mail.outgoing(
          { kind: "passkey_added", to, fields: { name: actor.user.name, passkey: name } },
          { now, audited: audit.id },
        ),
      ]);
      if (written?.rows.length !== 1) {
        if (await findPasskeyByCredential(database, made.credentialId) === undefined) throw limitError();
        throw new AppError("two_step_state", "This passkey was added before.");
      }
      mail.wake();
      return shown(passkey);
    },

    async renamePasskey(actor, { id, name }) {
      const now = clock();
      requireRecentAuthentication(actor, now);
      const found = await find(actor, id);
      const entry = {
        action: "passkey.renamed",
        target: { id, name },
        details: { from: found.name, to: name },
      } as const;
      await writeAs(actor, [
        updatePasskeyName({ userId: actor.user.id, id, name }),
        insertAuditEvent(actor, entry, { now }).statement,
      ]);
      return shown(await find(actor, id));
    },

    async removePasskey(actor, id) {
      const now = clock();
      requireRecentAuthentication(actor, now);
      const { name: passkey } = await find(actor, id);
      const audit = insertAuditEvent(actor, {
        action: "passkey.removed",
        target: { id, name: passkey },
      }, { now });
      const [, written] = await writeAs(actor, [
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
