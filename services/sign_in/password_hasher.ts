// Argon2id in a limited number of threads, because hashing is the cheapest way to overload the server.
import pLimit from "p-limit";
import { unavailableError } from "../../domain/errors.ts";
import { passwordHashesWaitingMax } from "../../domain/limits.ts";
import { normalizedPassword } from "../../domain/sign_in/password.ts";
import type { PasswordRequest, PasswordResponse } from "./password_worker.ts";

/** The start of a hash with the current parameters. */
const current = "$argon2id$v=19$m=19456,t=2,p=1$";

/** The hash of a random text that nobody has: checked for unknown users, so that they take as long. */
const unknownUser =
  "$argon2id$v=19$m=19456,t=2,p=1$U5hXNoi3j8Cjtw6/xyGXxw$Qm6GKzPm4TFaCziKqrzVdtWu01TFdLOPNrZLx2E2bPI";

/** @returns Whether a stored hash has older parameters and should be replaced. */
export function needsRehash(phc: string): boolean {
  return !phc.startsWith(current);
}

/** Hashes and checks passwords, in threads of the process. */
export interface PasswordHashing {
  /** @returns A PHC string. @throws {AppError} `unavailable` when too many are waiting. */
  hash(password: string): Promise<string>;
  /**
   * @param phc The stored hash, or undefined for an unknown user: the check takes as long and returns false.
   * @throws {AppError} `unavailable` when too many are waiting.
   */
  verify(phc: string | undefined, password: string): Promise<boolean>;
}

/** Owns the threads. */
export class PasswordHasher implements PasswordHashing {
  readonly #limit: ReturnType<typeof pLimit>;
  readonly #idle: Worker[] = [];
  readonly #workers = new Set<Worker>();

  /**
   * @param concurrency The number of threads, each with one hash at a time; usually the number of cores.
   * @param options `startNow`: starts the threads now instead of when they are first needed. A server wants that: Deno aborts
   *   the process when a thread can't start for lack of file descriptors.
   */
  constructor(concurrency: number, { startNow = false }: { startNow?: boolean } = {}) {
    this.#limit = pLimit(concurrency);
    if (startNow) { for (let count = 0; count < concurrency; count++) this.#idle.push(this.#start()); }
  }

  async hash(password: string): Promise<string> {
    const response = await this.#request({ type: "hash", password: normalizedPassword(password) });
    if ("hash" in response) return response.hash;
    throw new Error("fault" in response ? response.fault : "no hash");
  }

  async verify(phc: string | undefined, password: string): Promise<boolean> {
    const response = await this.#request({
      type: "verify",
      phc: phc ?? unknownUser,
      password: normalizedPassword(password),
    });
    if ("fault" in response) throw new Error(response.fault);
    return phc !== undefined && "matches" in response && response.matches;
  }

  /** Ends the threads. */
  close(): void {
    for (const worker of this.#workers) worker.terminate();
    this.#workers.clear();
    this.#idle.length = 0;
  }

  #request(request: PasswordRequest): Promise<PasswordResponse> {
    if (this.#limit.pendingCount >= passwordHashesWaitingMax) {
      return Promise.reject(
        unavailableError("Too many people are signing in right now. Try again in a moment."),
      );
    }
    return this.#limit(() =>
      new Promise<PasswordResponse>((resolve, reject) => {
        const worker = this.#idle.pop() ?? this.#start();
        worker.onmessage = ({ data }: MessageEvent<PasswordResponse>) => {
          this.#idle.push(worker);
          resolve(data);
        };
        worker.onerror = (event) => {
          event.preventDefault();
          this.#workers.delete(worker);
          worker.terminate();
          reject(new Error(`the hashing thread ended: ${event.message}`));
        };
        worker.postMessage(request);
      })
    );
  }

  #start(): Worker {
    const worker = new Worker(new URL("./password_worker.ts", import.meta.url), { type: "module" });
    this.#workers.add(worker);
    return worker;
  }
}
