// Passkey challenges: created, stored for a few minutes, used once.
import type { Config } from "../../config.ts";
import type { Database } from "../../db/engine/database.ts";
import {
  insertPasskeyChallenge,
  type PasskeyPurpose,
  takePasskeyChallenge,
} from "../../db/sign_in/passkeys.ts";
import { passkeyTimeoutMs } from "../../domain/limits.ts";
import {
  answeredChallenge,
  newChallenge,
  type PasskeyAnswer,
  type RegistrationAnswer,
  type RelyingParty,
} from "./webauthn.ts";

/** What a challenge is for, and whose passkey may answer it: null if any may. */
export interface ChallengeUse {
  readonly purpose: PasskeyPurpose;
  readonly userId: string | null;
}

/** @returns The service as passkeys know it: its own origin and no other. */
export function relyingParty({ baseUrl }: Config): RelyingParty {
  return { id: baseUrl.hostname, origin: baseUrl.origin };
}

/** How challenges are written: as a session to add a passkey, without one to sign in. `now`: milliseconds since 1970. */
export interface ChallengeWriter {
  readonly write: Database["write"];
  readonly now: number;
}

/** @returns A new challenge, in base64url. @throws {DatabaseError} */
export async function createChallenge({ write, now }: ChallengeWriter, use: ChallengeUse): Promise<string> {
  const challenge = newChallenge();
  await write(insertPasskeyChallenge({ challenge, ...use, expiresAt: now + passkeyTimeoutMs }, now));
  return challenge;
}

/**
 * Uses up the challenge of an answer, before the answer is checked.
 *
 * @returns The challenge, or null if it wasn't waiting for this answer.
 * @throws {DatabaseError}
 */
export async function takeChallenge(
  { write, now }: ChallengeWriter,
  { answer: response, ...use }: ChallengeUse & { answer: RegistrationAnswer | PasskeyAnswer },
): Promise<string | null> {
  const challenge = answeredChallenge(response);
  if (challenge === null) return null;
  const [taken] = await write([takePasskeyChallenge({ challenge, ...use, now })]);
  return taken?.changes === 1 ? challenge : null;
}
