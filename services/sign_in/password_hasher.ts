// Argon2id with a limited number of hashes at the same time, because hashing is the cheapest way to overload the server.
import pLimit from "p-limit";
import { unavailableError } from "../../domain/errors.ts";
import { passwordHashesWaitingMax } from "../../domain/limits.ts";
import { normalizedPassword } from "../../domain/sign_in/password.ts";
import { requireDescriptorsForThread } from "../file_descriptors.ts";
import type { PasswordRequest, PasswordResponse, PasswordResult, PasswordTask } from "./password_worker.ts";

/** The start of a hash with the current parameters. */
const current = "$argon2id$v=19$m=19456,t=2,p=1$";

/** The hash of a random text. Checked for unknown users, so that they take as long. */
const unknownUser =
  "$argon2id$v=19$m=19456,t=2,p=1$U5hXNoi3j8Cjtw6/xyGXxw$Qm6GKzPm4TFaCziKqrzVdtWu01TFdLOPNrZLx2E2bPI";

/** True if a stored hash has older parameters and should be replaced. */
export function needsRehash(phc: string): boolean {
  return !phc.startsWith(current);
}

/** Hashes and checks passwords, in a thread of its own. */
export interface PasswordHashing {
  /** Returns a PHC string. @throws {AppError} `unavailable` when too many are waiting. */
  hash(password: string): Promise<string>;
  /**
   * Checks a password. With undefined for an unknown user, it takes as long and returns false.
   *
   * @throws {AppError} `unavailable` when too many are waiting.
   */
  verify(phc: string | undefined, password: string): Promise<boolean>;
}

interface HashingThread {
  readonly worker: Worker;
  /** By the id of the request. */
  readonly waiting: Map<number, PromiseWithResolvers<PasswordResult>>;
}

export function newPasswordWorker(): Worker {
  return new Worker(new URL("./password_worker.ts", import.meta.url), { type: "module" });
}

/** Owns the hashing thread, which starts when it is first needed. */
export class PasswordHasher implements PasswordHashing {
  readonly #limit: ReturnType<typeof pLimit>;
  readonly #newWorker: () => Worker;
  #thread: HashingThread | undefined;
  #lastId = 0;

  /** @param concurrency Hashes at the same time; usually the number of cores. @param options `newWorker`: for tests. */
  constructor(concurrency: number, { newWorker = newPasswordWorker }: { newWorker?: () => Worker } = {}) {
    this.#limit = pLimit(concurrency);
    this.#newWorker = newWorker;
  }

  async hash(password: string): Promise<string> {
    const result = await this.#run({ type: "hash", password: normalizedPassword(password) });
    if ("hash" in result) return result.hash;
    throw new Error("fault" in result ? result.fault : "no hash");
  }

  async verify(phc: string | undefined, password: string): Promise<boolean> {
    const result = await this.#run({
      type: "verify",
      phc: phc ?? unknownUser,
      password: normalizedPassword(password),
    });
    if ("fault" in result) throw new Error(result.fault);
    return phc !== undefined && "matches" in result && result.matches;
  }

  close(): void {
    this.#thread?.worker.terminate();
    this.#thread = undefined;
  }

  #run(task: PasswordTask): Promise<PasswordResult> {
    if (this.#limit.pendingCount >= passwordHashesWaitingMax) {
      return Promise.reject(
        unavailableError("Too many people are signing in right now. Try again in a moment."),
      );
    }
    return this.#limit(() => {
      const { worker, waiting } = this.#thread ??= this.#start();
      const id = ++this.#lastId;
      const response = Promise.withResolvers<PasswordResult>();
      waiting.set(id, response);
      worker.postMessage({ id, task } satisfies PasswordRequest);
      return response.promise;
    });
  }

  /** @throws {AppError} `unavailable`. */
  #start(): HashingThread {
    requireDescriptorsForThread();
    const worker = this.#newWorker();
    const waiting: HashingThread["waiting"] = new Map();
    worker.onmessage = ({ data: { id, result } }: MessageEvent<PasswordResponse>) => {
      waiting.get(id)?.resolve(result);
      waiting.delete(id);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      worker.terminate();
      if (this.#thread?.worker === worker) this.#thread = undefined;
      for (const { reject } of waiting.values()) {
        reject(new Error(`the hashing thread ended: ${event.message}`));
      }
    };
    return { worker, waiting };
  }
}
