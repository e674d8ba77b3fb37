// Passkeys of a person's own account: adding, renaming, removing. All but reading requires a recent authentication.
import {
  deletePasskey,
  findPasskeyByCredential,
  findPasskeysOfUser,
  insertPasskey,
  type PasskeyRow,
  selectPasskey,
  updatePasskeyName,
} from "../../db/people/passkeys.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import { AppError, lastSignInMethodError, notFoundError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { passkeysPerUserMax } from "../../domain/limits.ts";
import type { Passkey } from "../../domain/people/passkey.ts";
import { isoTime } from "../../domain/time.ts";
import { requireRecentAuthentication, writeAndRead, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { createChallenge, relyingParty, takeChallenge } from "./passkey_check.ts";
import { requireMayChangeFactors, sessionChallengeWriter } from "./reauthentication.ts";
import {
  type PasskeyOptions,
  type RegistrationAnswer,
  registrationOptions,
  verifyRegistration,
} from "./webauthn.ts";

/** Lists the person's passkeys, oldest first. */
export async function listPasskeys(
  { database, config }: SessionContext,
  actor: SessionActor,
): Promise<Passkey[]> {
  return (await findPasskeysOfUser(database, actor.user.id)).map((row) => toPasskey(row, config));
}

/** @throws {AppError} `not_found`. */
export async function getPasskey(context: SessionContext, actor: SessionActor, id: string): Promise<Passkey> {
  const found = isId("pas", id)
    ? await context.database.readFirst<PasskeyRow>(selectPasskey({ userId: actor.user.id, id }))
    : undefined;
  if (found === undefined) throw notFoundError();
  return toPasskey(found, context.config);
}

/** Returns options for a browser. @throws {AppError} `proof_required`, `second_factor_required`, `limit_reached`. */
export async function beginPasskey(context: SessionContext, actor: SessionActor): Promise<PasskeyOptions> {
  await requireMayChangeFactors(context, actor);
  const { id, email, name } = actor.user;
  const present = await findPasskeysOfUser(context.database, id);
  if (present.length >= passkeysPerUserMax) throw limitError();
  const challenge = await createChallenge(sessionChallengeWriter(context, actor), {
    purpose: "register",
    userId: id,
  });
  return await registrationOptions(relyingParty(context.config), {
    challenge,
    user: { id, email, name },
    present,
  });
}

/**
 * Adds the passkey that the browser created.
 *
 * @throws {AppError} `proof_required`, `second_factor_required`; `validation_failed` if the answer doesn't match our
 *   challenge; `limit_reached`; `two_step_state` if the passkey was already added, to any account.
 */
export async function addPasskey(
  context: SessionContext,
  actor: SessionActor,
  { name, answer: response }: { name: string; answer: RegistrationAnswer },
): Promise<Passkey> {
  const now = context.clock();
  await requireMayChangeFactors(context, actor);
  const { id: userId, email: to } = actor.user;
  const use = { purpose: "register", userId, answer: response } as const;
  const challenge = await takeChallenge(sessionChallengeWriter(context, actor), use);
  const party = relyingParty(context.config);
  const verified = challenge === null
    ? null
    : await verifyRegistration(party, { answer: response, challenge });
  if (verified === null) {
    const message = "The passkey couldn't be verified, or it took too long. Try again.";
    throw new AppError("validation_failed", message, { details: [{ path: "response", message }] });
  }
  const passkey = {
    ...verified,
    id: newId("pas"),
    userId,
    name,
    host: party.id,
    createdAt: now,
    lastUsedAt: null,
  };
  const isAdded = await writeChange(context, actor, {
    statement: insertPasskey(passkey),
    entry: { action: "passkey.added", target: { id: passkey.id, name } },
    email: { kind: "passkey_added", to, fields: { name: actor.user.name, passkey: name } },
  });
  if (!isAdded) {
    const existing = await findPasskeyByCredential(context.database, verified.credentialId);
    throw existing === undefined
      ? limitError()
      : new AppError("two_step_state", "This passkey has already been added.");
  }
  return toPasskey(passkey, context.config);
}

/** @throws {AppError} `proof_required`, `not_found`. */
export async function renamePasskey(
  context: SessionContext,
  actor: SessionActor,
  { id, name }: { id: string; name: string },
): Promise<Passkey> {
  requireRecentAuthentication(actor, context.clock());
  const { name: from } = await getPasskey(context, actor, id);
  const userId = actor.user.id;
  const { row } = await writeAndRead<PasskeyRow>(context, actor, {
    statement: updatePasskeyName({ userId, id, name }),
    entry: { action: "passkey.renamed", target: { id, name }, details: { from, to: name } },
  }, selectPasskey({ userId, id }));
  return toPasskey(row(), context.config);
}

/** @throws {AppError} `proof_required`, `second_factor_required`, `not_found`, `last_sign_in_method`. */
export async function removePasskey(context: SessionContext, actor: SessionActor, id: string): Promise<void> {
  await requireMayChangeFactors(context, actor);
  const { name: passkey } = await getPasskey(context, actor, id);
  const { id: userId, email: to, name } = actor.user;
  const isRemoved = await writeChange(context, actor, {
    statement: deletePasskey({ userId, id, host: context.config.baseUrl.hostname }),
    entry: { action: "passkey.removed", target: { id, name: passkey } },
    email: { kind: "passkey_removed", to, fields: { name, passkey } },
  });
  if (isRemoved) return;
  await getPasskey(context, actor, id);
  throw lastSignInMethodError();
}

function toPasskey(
  { id, name, host, createdAt, lastUsedAt }: PasskeyRow,
  { baseUrl }: SessionContext["config"],
): Passkey {
  return {
    id,
    name,
    otherHost: host === baseUrl.hostname ? null : host,
    createdAt: isoTime(createdAt),
    lastUsedAt: isoTime(lastUsedAt),
  };
}

function limitError(): AppError {
  const message = `An account can have up to ${passkeysPerUserMax} passkeys. Remove one first.`;
  return new AppError("limit_reached", message);
}
