// The thread that hashes and judges passwords. Only this thread makes the library's asynchronous calls, each of which uses a thread of Deno's
// pool: where requests are handled, they would delay timers (docs/decisions/0006).
import { hash, type Options, verify } from "@node-rs/argon2";
import { passwordFault, type PasswordOwner } from "../../domain/people/password.ts";
import { connectCalls, workerPort } from "../thread_calls.ts";

/** 19 MiB, two passes, one lane: the second choice of the OWASP cheat sheet. Argon2id is the library's default. */
const parameters: Options = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };

let common: ReadonlySet<string> | undefined;

/** Loads several megabytes of dictionaries, which only new passwords need. */
async function commonPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"]);
}

const calls = {
  /** Returns a PHC string of a normalized password. */
  hash: (password: string) => hash(password, parameters),
  verify: (phc: string, password: string) => verify(phc, password),
  async fault(password: string, owner: PasswordOwner): Promise<string | null> {
    common ??= await commonPasswords();
    return passwordFault(password, { ...owner, common });
  },
};

export type PasswordCalls = typeof calls;

if ("DedicatedWorkerGlobalScope" in globalThis) {
  connectCalls(workerPort(globalThis as unknown as Worker), calls, { thread: "hashing thread" });
}
