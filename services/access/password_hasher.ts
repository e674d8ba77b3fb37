// Argon2id with a limited number of hashes at the same time, because hashing is the cheapest way to overload the server.
import pLimit from "p-limit";
import { unavailableError } from "../../domain/errors.ts";
import { hashingThreadIdleMs, passwordHashesWaitingMax } from "../../domain/limits.ts";
import { normalizedPassword, type PasswordOwner } from "../../domain/people/password.ts";
import { requireDescriptorsForThread } from "../file_descriptors.ts";
import { connectCalls, workerPort } from "../thread_calls.ts";
import type { PasswordCalls } from "./password_worker.ts";

/** The start of a hash with the current parameters. */
const current = "$argon2id$v=19$m=19456,t=2,p=1$";

/** The hash of a random text. Checked for unknown users, so that they take as long. */
const unknownUser =
  "$argon2id$v=19$m=19456,t=2,p=1$U5hXNoi3j8Cjtw6/xyGXxw$Qm6GKzPm4TFaCziKqrzVdtWu01TFdLOPNrZLx2E2bPI";

/** True if a stored hash has older parameters and should be replaced. */
export function needsRehash(phc: string): boolean {
  return !phc.startsWith(current);
}

/** The longest time of a timer. */
const timerMsMax = 2 ** 31 - 1;

/** Hashes, checks and judges passwords, in a thread of its own. */
export interface PasswordHashing {
  /** Returns a PHC string. @throws {AppError} `unavailable` when too many are waiting. */
  hash(password: string): Promise<string>;
  /** Checks a password; without `phc` it takes as long and returns false. @throws {AppError} `unavailable` when busy. */
  verify(phc: string | undefined, password: string): Promise<boolean>;
  /** Returns the problem with a new password, or null. See {@linkcode passwordFault}. @throws {AppError} `unavailable` when busy. */
  fault(password: string, owner: PasswordOwner): Promise<string | null>;
}

export function newPasswordWorker(): Worker {
  return new Worker(new URL("./password_worker.ts", import.meta.url), { type: "module" });
}

/** Owns the hashing thread, which starts when it is needed and ends when it isn't: that returns tens of megabytes to the system. */
export class PasswordHasher implements PasswordHashing {
  readonly #limit: ReturnType<typeof pLimit>;
  readonly #newWorker: () => Worker;
  #idleMs: number;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #thread: ReturnType<typeof connectThread> | undefined;

  /** @param concurrency Hashes at the same time; usually the number of cores. @param options For tests. */
  constructor(
    concurrency: number,
    { newWorker = newPasswordWorker, idleMs = hashingThreadIdleMs }: {
      newWorker?: () => Worker;
      idleMs?: number;
    } = {},
  ) {
    this.#limit = pLimit(concurrency);
    this.#newWorker = newWorker;
    this.#idleMs = idleMs;
  }

  hash(password: string): Promise<string> {
    return this.#run((calls) => calls.hash(normalizedPassword(password)));
  }

  async verify(phc: string | undefined, password: string): Promise<boolean> {
    const matches = await this.#run((calls) =>
      calls.verify(phc ?? unknownUser, normalizedPassword(password))
    );
    return phc !== undefined && matches;
  }

  fault(password: string, owner: PasswordOwner): Promise<string | null> {
    return this.#run((calls) => calls.fault(password, owner));
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#thread?.worker.terminate();
    this.#thread = undefined;
  }

  #run<T>(act: (calls: PasswordCalls) => Promise<T>): Promise<T> {
    if (this.#limit.pendingCount >= passwordHashesWaitingMax) {
      return Promise.reject(
        unavailableError("Too many people are signing in right now. Try again in a moment."),
      );
    }
    clearTimeout(this.#idle);
    return this.#limit(() => act((this.#thread ??= this.#start()).calls)).finally(() => this.#endWhenIdle());
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idle);
    const isBusy = this.#limit.activeCount + this.#limit.pendingCount > 0;
    if (isBusy || this.#thread === undefined || this.#idleMs === Infinity) return;
    this.#idle = setTimeout(() => {
      this.close();
      // Deno 2.7 never closes two descriptors of an ended thread, so there must be few of them.
      this.#idleMs = Math.min(2 * this.#idleMs, timerMsMax);
    }, this.#idleMs);
    Deno.unrefTimer(this.#idle as number);
  }

  /** @throws {AppError} `unavailable`. */
  #start() {
    requireDescriptorsForThread();
    const thread = connectThread(this.#newWorker());
    const { worker, calls } = thread;
    worker.onerror = (event) => {
      event.preventDefault();
      worker.terminate();
      if (this.#thread === thread) this.#thread = undefined;
      calls.$close(new Error(`the hashing thread ended: ${event.message}`));
    };
    return thread;
  }
}

function connectThread(worker: Worker) {
  const calls = connectCalls<PasswordCalls, object>(workerPort(worker), {}, { thread: "main thread" });
  return { worker, calls };
}
