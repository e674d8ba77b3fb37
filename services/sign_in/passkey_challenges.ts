// Challenges of passkeys: made, kept for some minutes, answered once.
import type { Config } from "../../config.ts";
import type { Database } from "../../db/engine/database.ts";
import {
  insertPasskeyChallenge,
  type PasskeyPurpose,
  takePasskeyChallenge,
} from "../../db/sign_in/passkey_challenges.ts";
import { passkeyTimeoutMs } from "../../domain/limits.ts";
import {
  answeredChallenge,
  newChallenge,
  type PasskeyAnswer,
  type RegistrationAnswer,
  type RelyingParty,
} from "./webauthn.ts";

/** What a challenge is for, and whose passkey may answer it: null while nobody knows. */
export interface ChallengeUse {
  readonly purpose: PasskeyPurpose;
  readonly userId: string | null;
}

/** @returns The service as passkeys know it: its own address and no other. */
export function relyingParty({ baseUrl }: Config): RelyingParty {
  return { id: baseUrl.hostname, origin: baseUrl.origin };
}

/** How a challenge is written: as a session for its user's new passkey, without one to sign in. `now`: milliseconds since 1970. */
export interface ChallengeWriter {
  readonly write: Database["write"];
  readonly now: number;
}

/** @returns A new challenge, in base64url. @throws {DatabaseError} */
export async function createChallenge({ write, now }: ChallengeWriter, use: ChallengeUse): Promise<string> {
  const challenge = newChallenge();
  await write(
    insertPasskeyChallenge({ challenge, ...use, expiresAt: now + passkeyTimeoutMs }, now),
  );
  return challenge;
}

/**
 * Uses the challenge of an answer up, before the answer is looked at.
 *
 * @returns The challenge, or null when it was not waiting for this answer.
 * @throws {DatabaseError}
 */
export async function takeChallenge(
  { write, now }: ChallengeWriter,
  { answer, ...use }: ChallengeUse & { answer: RegistrationAnswer | PasskeyAnswer },
): Promise<string | null> {
  const challenge = answeredChallenge(answer);
  if (challenge === null) return null;
  const [taken] = await write([takePasskeyChallenge({ challenge, ...use, now })]);
  return taken?.changes === 1 ? challenge : null;
}
