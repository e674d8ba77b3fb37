// Argon2id in threads of its own, a bounded number at once: hashing is what an attacker can make us do most cheaply.
import pLimit from "p-limit";
import { unavailableError } from "../../domain/errors.ts";
import { passwordHashesWaitingMax } from "../../domain/limits.ts";
import { normalizedPassword } from "../../domain/sign_in/password.ts";
import type { PasswordRequest, PasswordResponse } from "./password_worker.ts";

/** How a hash of today's parameters begins. */
const current = "$argon2id$v=19$m=19456,t=2,p=1$";

/** Of a random text that nobody kept: what is checked for an unknown user, so that it costs one hash too. */
const unknownUser =
  "$argon2id$v=19$m=19456,t=2,p=1$U5hXNoi3j8Cjtw6/xyGXxw$Qm6GKzPm4TFaCziKqrzVdtWu01TFdLOPNrZLx2E2bPI";

/** Hashes and checks passwords. */
export interface PasswordHasher {
  /** @returns A PHC string. @throws {AppError} `unavailable` when too many wait. */
  hash(password: string): Promise<string>;
  /**
   * @param phc The stored hash, or undefined for an unknown user: then as much is computed, and the answer is false.
   * @throws {AppError} `unavailable` when too many wait.
   */
  verify(phc: string | undefined, password: string): Promise<boolean>;
  /** Ends the threads. */
  close(): void;
}

/** @returns Whether a stored hash was made with older parameters and should be made anew. */
export function needsRehash(phc: string): boolean {
  return !phc.startsWith(current);
}

/**
 * @param concurrency Hashes at once, each in a thread of its own; as many as there are cores.
 * @param options `startNow`: threads start now instead of when they are first needed. A server wants that: Deno aborts
 *   the process when a thread can't start for lack of file descriptors.
 */
export function createPasswordHasher(
  concurrency: number,
  { startNow = false }: { startNow?: boolean } = {},
): PasswordHasher {
  const limit = pLimit(concurrency);
  const idle: Worker[] = [];
  const all = new Set<Worker>();

  function ask(request: PasswordRequest): Promise<PasswordResponse> {
    if (limit.pendingCount >= passwordHashesWaitingMax) {
      return Promise.reject(
        unavailableError("Too many people are signing in at this moment. Try again shortly."),
      );
    }
    return limit(() =>
      new Promise<PasswordResponse>((resolve, reject) => {
        const worker = idle.pop() ?? start();
        worker.onmessage = ({ data }: MessageEvent<PasswordResponse>) => {
          idle.push(worker);
          resolve(data);
        };
        worker.onerror = (event) => {
          event.preventDefault();
          all.delete(worker);
          worker.terminate();
          reject(new Error(`the hashing thread ended: ${event.message}`));
        };
        worker.postMessage(request);
      })
    );
  }

  function start(): Worker {
    const worker = new Worker(new URL("./password_worker.ts", import.meta.url), { type: "module" });
    all.add(worker);
    return worker;
  }

  if (startNow) { for (let count = 0; count < concurrency; count++) idle.push(start()); }

  async function hash(password: string): Promise<string> {
    const response = await ask({ type: "hash", password: normalizedPassword(password) });
    if ("hash" in response) return response.hash;
    throw new Error("fault" in response ? response.fault : "no hash");
  }

  return {
    hash,
    async verify(phc, password) {
      const response = await ask({
        type: "verify",
        phc: phc ?? unknownUser,
        password: normalizedPassword(password),
      });
      if ("fault" in response) throw new Error(response.fault);
      return phc !== undefined && "matches" in response && response.matches;
    },
    close() {
      for (const worker of all) worker.terminate();
      all.clear();
      idle.length = 0;
    },
  };
}
