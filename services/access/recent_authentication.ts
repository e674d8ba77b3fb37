// Recent authentication: sensitive changes require that the person proved minutes ago who they are.
import { recentAuthenticationError } from "../../domain/errors.ts";
import { recentAuthenticationMs } from "../../domain/limits.ts";
import type { Session } from "../../domain/access/session.ts";

export function hasRecentAuthentication({ authenticatedAt }: Pick<Session, "authenticatedAt">, now: number) {
  // One far in the future comes from a clock that was set back.
  return authenticatedAt > now - recentAuthenticationMs && authenticatedAt <= now + recentAuthenticationMs;
}

/** @throws {AppError} `proof_required` when the last authentication is not recent. */
export function requireRecentAuthentication(session: Pick<Session, "authenticatedAt">, now: number): void {
  if (!hasRecentAuthentication(session, now)) throw recentAuthenticationError();
}
