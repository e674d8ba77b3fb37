// Whether somebody proved who they are a short time ago: sensitive acts ask for it.
import type { Session } from "../../domain/sign_in/session.ts";
import { proofRequiredError } from "../../domain/errors.ts";
import { proofLifetimeMs } from "../../domain/limits.ts";

/** @returns Whether the last proof of a session is young enough at `now`, in milliseconds since 1970. */
export function hasProof({ provedAt }: Pick<Session, "provedAt">, now: number): boolean {
  // A proof from the future is one of a clock that was set back.
  return provedAt > now - proofLifetimeMs && provedAt <= now + proofLifetimeMs;
}

/** @throws {AppError} `proof_required` when the last proof is too old. */
export function requireProof(session: Pick<Session, "provedAt">, now: number): void {
  if (!hasProof(session, now)) throw proofRequiredError();
}
