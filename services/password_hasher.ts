// Argon2id, off the main thread, a bounded number at once: hashing is what an attacker can make us do most cheaply.
import { hash, type Options, verify } from "@node-rs/argon2";
import pLimit from "p-limit";
import { unavailableError } from "../domain/errors.ts";
import { passwordHashesWaitingMax } from "../domain/limits.ts";
import { normalizedPassword } from "../domain/password.ts";

/** Argon2id is the library's default algorithm. 19 MiB, two passes, one lane: the OWASP cheat sheet's second choice. */
const parameters: Options = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };
const current = "$argon2id$v=19$m=19456,t=2,p=1$";

/** Hashes and checks passwords. */
export interface PasswordHasher {
  /** @returns A PHC string. @throws {AppError} `unavailable` when too many wait. */
  hash(password: string): Promise<string>;
  /**
   * @param phc The stored hash, or undefined for an unknown user: then as much is computed, and the answer is false.
   * @throws {AppError} `unavailable` when too many wait.
   */
  verify(phc: string | undefined, password: string): Promise<boolean>;
}

/** @returns Whether a stored hash was made with older parameters and should be made anew. */
export function needsRehash(phc: string): boolean {
  return !phc.startsWith(current);
}

/**
 * @param concurrency Hashes at once; as many as there are cores.
 */
export function createPasswordHasher(concurrency: number): PasswordHasher {
  const limit = pLimit(concurrency);
  let unknownUser: Promise<string> | undefined;

  function bounded<T>(act: () => Promise<T>): Promise<T> {
    if (limit.pendingCount >= passwordHashesWaitingMax) {
      return Promise.reject(
        unavailableError("Too many people are signing in at this moment. Try again shortly."),
      );
    }
    return limit(act);
  }

  return {
    hash: (password) => bounded(() => hash(normalizedPassword(password), parameters)),
    verify: async (phc, password) => {
      const known = phc ?? await (unknownUser ??= hash(crypto.randomUUID(), parameters));
      const matches = await bounded(() => verify(known, normalizedPassword(password)));
      return phc !== undefined && matches;
    },
  };
}
