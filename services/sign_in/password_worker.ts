// The thread that hashes passwords. Only this thread makes the library's asynchronous calls, each of which uses a thread of Deno's
// pool: where requests are handled, they would delay timers (docs/decisions/0006).
import { hash, type Options, verify } from "@node-rs/argon2";

/** A request. Passwords are normalized. */
export type PasswordTask =
  | { readonly type: "hash"; readonly password: string }
  | { readonly type: "verify"; readonly password: string; readonly phc: string };

export interface PasswordRequest {
  readonly id: number;
  readonly task: PasswordTask;
}

/** A PHC string, true if the password matches, or an error message. */
export type PasswordResult =
  | { readonly hash: string }
  | { readonly matches: boolean }
  | { readonly fault: string };

export interface PasswordResponse {
  readonly id: number;
  readonly result: PasswordResult;
}

/** 19 MiB, two passes, one lane: the second choice of the OWASP cheat sheet. Argon2id is the library's default. */
const parameters: Options = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };

async function run(task: PasswordTask): Promise<PasswordResult> {
  try {
    if (task.type === "hash") return { hash: await hash(task.password, parameters) };
    return { matches: await verify(task.phc, task.password) };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

if ("DedicatedWorkerGlobalScope" in globalThis) {
  const scope = globalThis as unknown as Worker;
  scope.onmessage = async ({ data: { id, task } }: MessageEvent<PasswordRequest>) => {
    scope.postMessage({ id, result: await run(task) } satisfies PasswordResponse);
  };
}
