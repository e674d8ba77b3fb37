// A thread that hashes passwords, one at a time. It avoids the library's asynchronous calls: after one of them, Deno 2.7 wakes up
// late for timers and messages (docs/decisions/0006).
import { hashSync, type Options, verifySync } from "@node-rs/argon2";

/** What the main thread asks for. Passwords are normalized. */
export type PasswordRequest =
  | { readonly type: "hash"; readonly password: string }
  | { readonly type: "verify"; readonly password: string; readonly phc: string };

/** The response to each request, in order: a PHC string, whether the password matches, or an error message. */
export type PasswordResponse =
  | { readonly hash: string }
  | { readonly matches: boolean }
  | { readonly fault: string };

/** 19 MiB, two passes, one lane: the second choice of the OWASP cheat sheet. Argon2id is the library's default. */
const parameters: Options = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };

function respond(request: PasswordRequest): PasswordResponse {
  try {
    if (request.type === "hash") return { hash: hashSync(request.password, parameters) };
    return { matches: verifySync(request.phc, request.password) };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

if ("DedicatedWorkerGlobalScope" in globalThis) {
  const scope = globalThis as unknown as Worker;
  scope.onmessage = ({ data }: MessageEvent<PasswordRequest>) => scope.postMessage(respond(data));
}
