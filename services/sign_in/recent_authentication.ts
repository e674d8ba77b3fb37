// Whether somebody proved who they are a short time ago: sensitive acts ask for it.
import type { Session } from "../../domain/sign_in/session.ts";
import { recentAuthenticationError } from "../../domain/errors.ts";
import { recentAuthenticationMs } from "../../domain/limits.ts";

/** @returns Whether the last proof of a session is young enough at `now`, in milliseconds since 1970. */
export function hasRecentAuthentication(
  { authenticatedAt }: Pick<Session, "authenticatedAt">,
  now: number,
): boolean {
  // A proof from the future is one of a clock that was set back.
  return authenticatedAt > now - recentAuthenticationMs && authenticatedAt <= now + recentAuthenticationMs;
}

/** @throws {AppError} `proof_required` when the last proof is too old. */
export function requireRecentAuthentication(session: Pick<Session, "authenticatedAt">, now: number): void {
  if (!hasRecentAuthentication(session, now)) throw recentAuthenticationError();
}
