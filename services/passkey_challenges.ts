// Challenges of passkeys: made, kept for some minutes, answered once.
import type { Config } from "../config.ts";
import {
  insertPasskeyChallenge,
  type PasskeyPurpose,
  takePasskeyChallenge,
} from "../db/passkey_challenges.ts";
import { passkeyTimeoutMs } from "../domain/limits.ts";
import type { ServiceContext } from "./context.ts";
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

/** @returns A new challenge, in base64url. @throws {DatabaseError} */
export async function createChallenge(
  { database, clock }: ServiceContext,
  use: ChallengeUse,
): Promise<string> {
  const challenge = newChallenge();
  const now = clock();
  await database.write(
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
  { database, clock }: ServiceContext,
  { answer, ...use }: ChallengeUse & { answer: RegistrationAnswer | PasskeyAnswer },
): Promise<string | null> {
  const challenge = answeredChallenge(answer);
  if (challenge === null) return null;
  return await takePasskeyChallenge(database, { challenge, ...use, now: clock() }) ? challenge : null;
}
