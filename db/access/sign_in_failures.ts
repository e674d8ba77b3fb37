// SQL of the delays after failed sign-ins.
import { signInDelayMaxMs, signInDelayMinMs, signInFailuresFree } from "../../domain/limits.ts";
import { type Database, sql, type Statement } from "../engine/database.ts";

/** Failures are forgotten after a day without one, in milliseconds. */
const forgetAfterMs = 24 * 3_600_000;
/** Maximum number of other subjects that each failure forgets. */
const forgottenMax = 100;
const doublingsMax = Math.ceil(Math.log2(signInDelayMaxMs / signInDelayMinMs));

/** Returns until when sign-ins of a subject are rejected, or 0. */
export async function findSignInBlock(database: Database, subject: string): Promise<number> {
  const row = await database.readFirst<{ blockedUntil: number }>(
    sql`SELECT blocked_until AS blockedUntil FROM sign_in_failures WHERE subject = ${subject}`,
  );
  return row?.blockedUntil ?? 0;
}

/**
 * Counts an attempt as a failure before its password is checked, so that concurrent guesses get no further than sequential
 * ones. The first statement forgets old subjects. The second counts and sets the next delay: none for the first five, then 1
 * s, doubled each time, up to 15 minutes. During a delay, it returns no row and counts nothing. A delay longer than the
 * longest comes from a clock that was set back, and has ended.
 */
export function insertSignInFailure(subject: string, now: number): Statement[] {
  const oldest = now - forgetAfterMs;
  return [
    sql`DELETE FROM sign_in_failures WHERE +failed_at <= ${oldest} AND subject IN (SELECT ${subject} UNION ALL
      SELECT subject FROM (SELECT subject FROM sign_in_failures WHERE failed_at <= ${oldest} LIMIT ${forgottenMax}))`,
    sql`
      INSERT INTO sign_in_failures (subject, failures, blocked_until, failed_at) VALUES (${subject}, 1, 0, ${now})
      ON CONFLICT (subject) DO UPDATE SET
        failures = failures + 1,
        failed_at = ${now},
        blocked_until = iif(failures + 1 < ${signInFailuresFree}, 0, ${now} + min(
          ${signInDelayMaxMs},
          ${signInDelayMinMs} << min(failures + 1 - ${signInFailuresFree}, ${doublingsMax})))
      WHERE blocked_until <= ${now} OR blocked_until > ${now + signInDelayMaxMs}
      RETURNING subject`,
  ];
}

/** Takes one counted failure back: the password was never checked. */
export function undoSignInFailure(subject: string) {
  return sql`UPDATE sign_in_failures SET failures = failures - 1, blocked_until = 0 WHERE subject = ${subject}`;
}

/** Forgets a subject's failures, because it signed in. @param condition Must be true as well. */
export function deleteSignInFailures(subject: string, condition: Statement = sql`true`) {
  return sql`DELETE FROM sign_in_failures WHERE subject = ${subject} AND ${condition}`;
}
