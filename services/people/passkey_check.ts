// Passkey challenges: created, stored for a few minutes, used once. And the check of a passkey that answers one.
import type { Config } from "../../config.ts";
import { findUserCredentialsById } from "../../db/access/mod.ts";
import type { Database, DatabaseReader } from "../../db/engine/database.ts";
import {
  findPasskeyByCredential,
  findUsablePasskeys,
  insertPasskeyChallenge,
  type PasskeyPurpose,
  takePasskeyChallenge,
} from "../../db/people/passkeys.ts";
import { AppError } from "../../domain/errors.ts";
import { passkeyTimeoutMs } from "../../domain/limits.ts";
import {
  answeredChallenge,
  newChallenge,
  type PasskeyAnswer,
  type PasskeyOptions,
  type RegistrationAnswer,
  type RelyingParty,
  signInOptions,
  userOfHandle,
  verifySignIn,
} from "./webauthn.ts";

/** `userId`: whose passkey may answer; null if any may. */
interface ChallengeUse {
  readonly purpose: PasskeyPurpose;
  readonly userId: string | null;
}

export function relyingParty({ baseUrl, brand }: Config): RelyingParty {
  return { id: baseUrl.hostname, name: brand.name, origin: baseUrl.origin };
}

/** Writes challenges as a session, or without one to sign in. */
export interface ChallengeWriter {
  readonly write: Database["write"];
  readonly now: number;
}

/** Stores a new challenge, and returns it in base64url. */
export async function createChallenge({ write, now }: ChallengeWriter, use: ChallengeUse): Promise<string> {
  const challenge = newChallenge();
  await write(insertPasskeyChallenge({ challenge, ...use, expiresAt: now + passkeyTimeoutMs }, now));
  return challenge;
}

/** Uses up the challenge of an answer, before the answer is checked. Returns null if no such challenge was waiting for it. */
export async function takeChallenge(
  { write, now }: ChallengeWriter,
  { answer: response, ...use }: ChallengeUse & { answer: RegistrationAnswer | PasskeyAnswer },
): Promise<string | null> {
  const challenge = answeredChallenge(response);
  if (challenge === null) return null;
  const [taken] = await write([takePasskeyChallenge({ challenge, ...use, now })]);
  return taken?.changes === 1 ? challenge : null;
}

interface PasskeyContext {
  readonly config: Config;
  readonly database: DatabaseReader;
}

/** Returns the options for a person's own passkeys. @throws {AppError} `two_step_state` if they have none. */
export async function ownPasskeyOptions(
  { config, database }: PasskeyContext,
  writer: ChallengeWriter,
  userId: string,
): Promise<PasskeyOptions> {
  const allowed = await findUsablePasskeys(database, { userId, host: config.baseUrl.hostname });
  if (allowed.length === 0) {
    throw new AppError("two_step_state", "This account has no passkeys for this address.");
  }
  const challenge = await createChallenge(writer, { purpose: "second_step", userId });
  return await signInOptions(relyingParty(config), { challenge, allowed });
}

/**
 * Checks a passkey's answer, and uses up its challenge. Returns null if anything about the answer is wrong.
 *
 * @param input `userId`: whose passkey it must be; null if it signs in alone.
 */
export async function checkPasskey(
  { config, database }: PasskeyContext,
  writer: ChallengeWriter,
  { answer, userId }: { answer: PasskeyAnswer; userId: string | null },
) {
  const purpose = userId === null ? "sign_in" : "second_step";
  const challenge = await takeChallenge(writer, { purpose, userId, answer });
  if (challenge === null) return null;
  const passkey = await findPasskeyByCredential(database, answer.id);
  if (passkey === undefined) return null;
  // A passkey that signs in alone must name its user. Otherwise it must belong to the user who is signing in.
  const handle = userOfHandle(answer.response.userHandle) ?? userId;
  if (handle !== passkey.userId || (userId !== null && userId !== passkey.userId)) return null;
  const user = await findUserCredentialsById(database, passkey.userId);
  if (user?.disabledAt !== null) return null;
  const counter = await verifySignIn(relyingParty(config), { answer, challenge, passkey });
  return counter === null ? null : { id: passkey.id, counter, host: config.baseUrl.hostname, user };
}
