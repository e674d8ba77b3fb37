// SQL of proofs that a session's person is still its user: passwords, codes, passkeys and providers.
import { type Audited, ifAudited } from "./audit.ts";
import { type DatabaseReader, sql } from "../engine/database.ts";
import { identityMaySignIn, type IdentityUse } from "./identities.ts";
import { hasTwoStep } from "./user_credentials.ts";

/** A code or a passkey, as in RFC 8176. */
export type SecondFactor = "otp" | "pop";

/** An identity that was just used. `authenticatedAt`: when the person signed in at the provider; null if it doesn't say. */
export type FreshUse = IdentityUse & { readonly authenticatedAt?: number | null };

/** Clocks of providers may be slow by this much, and their times are whole seconds. */
const providerClockMs = 30_000;

export const enteredAtProvider = ({ authenticatedAt = null }: FreshUse, now: number): number | null =>
  authenticatedAt === null ? null : Math.min(now, authenticatedAt + providerClockMs);

const sessionHasTwoStep = sql`EXISTS (SELECT 1 FROM users u WHERE u.id = sessions.user_id AND ${hasTwoStep})`;

/** Finds when a session's person last entered something here, or at a provider that says when; null if that isn't known. */
export async function findEnteredAt(database: DatabaseReader, sessionId: string): Promise<number | null> {
  const row = await database.readFirst<{ enteredAt: number | null }>(
    sql`SELECT entered_at AS enteredAt FROM sessions WHERE id = ${sessionId}`,
  );
  return row?.enteredAt ?? null;
}

/** Records that the person has just entered their password. Does nothing if two-step sign-in is on: then it takes a code too. */
export function updateSessionAuthenticated(sessionId: string, now: number) {
  return sql`UPDATE sessions SET proved_at = ${now}, entered_at = ${now}, amr = 'pwd'
    WHERE id = ${sessionId} AND NOT ${sessionHasTwoStep}`;
}

/** Records that the person has just returned from a provider with one of their identities. Does nothing if two-step sign-in is on. */
export function updateSessionConfirmed(sessionId: string, { now, use }: { now: number; use: FreshUse }) {
  return sql`UPDATE sessions SET proved_at = ${now}, amr = NULL, entered_at = coalesce(${
    enteredAtProvider(use, now)
  }, entered_at)
    WHERE id = ${sessionId}
    AND EXISTS (SELECT 1 FROM users u WHERE u.id = sessions.user_id AND NOT ${hasTwoStep} AND ${
    identityMaySignIn(use)
  })`;
}

/** Sets `second_factor_at` too, after the audited use of a passkey, or of a code in addition to the password. */
export function updateSessionAuthenticatedIfAudited(
  sessionId: string,
  { now, audited, factor }: Audited & { factor: SecondFactor },
) {
  const amr = factor === "otp" ? sql`'pwd otp mfa'` : sql`iif(amr LIKE '% mfa', amr, ${factor})`;
  return sql`UPDATE sessions SET proved_at = ${now}, entered_at = ${now}, second_factor_at = ${now}, amr = ${amr}
    WHERE id = ${sessionId} AND ${ifAudited(audited)}`;
}

/** Gives a session another token, after an audited change of the password; an authentication, too, unless two-step sign-in is on. */
export function updateSessionToken(
  sessionId: string,
  { tokenHash, now, audited }: Audited & { tokenHash: string },
) {
  return sql`
    UPDATE sessions SET token_hash = ${tokenHash}, proved_at = iif(${sessionHasTwoStep}, proved_at, ${now}),
      entered_at = iif(${sessionHasTwoStep}, entered_at, ${now}), amr = iif(${sessionHasTwoStep}, amr, 'pwd')
    WHERE id = ${sessionId} AND ${ifAudited(audited)}`;
}
