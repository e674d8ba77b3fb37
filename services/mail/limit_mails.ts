// Emails about limits of organizations: to their owners and admins, and to operators about hard limits.
import {
  findLimitMailOperators,
  findWaitingNotices,
  insertLimitMails,
  insertOperatorLimitMail,
  markNoticeMailed,
  type WaitingNotice,
} from "../../db/mail/limit_mails.ts";
import { limitNoticesPerStepMax } from "../../domain/limits.ts";
import { limitWindow } from "../../domain/meter/limit_window.ts";
import { joinQuantity } from "../../domain/meter/quantity.ts";
import { groupDigits } from "../../domain/number_text.ts";
import type { Context } from "../context.ts";

/**
 * Writes the emails of some notices about limits that have none yet. Each notice is one batch with its emails, so that none is
 * lost and none is written twice.
 *
 * @returns Whether there may be more. @throws {DatabaseError}
 */
export async function mailLimitNotices(
  { database, clock, mail }: Pick<Context, "database" | "clock" | "mail">,
): Promise<boolean> {
  const notices = await findWaitingNotices(database, limitNoticesPerStepMax);
  if (notices.length === 0) return false;
  const isSent = mail.mode !== "none";
  const operators = isSent ? await findLimitMailOperators(database) : [];
  for (const notice of notices) {
    const now = clock();
    const mails = isSent ? mailsOf(notice, { operators, now }) : [];
    await database.write([...mails, markNoticeMailed(notice, now)]);
  }
  mail.wake();
  return notices.length === limitNoticesPerStepMax;
}

function mailsOf(notice: WaitingNotice, { operators, now }: { operators: readonly string[]; now: number }) {
  const { organizationId, organizationName, whole, micro, productSlug, metric, per, mode, level } = notice;
  if (organizationId === null || whole === null || isOld(notice)) return [];
  const fields = {
    organization: organizationName,
    quantity: groupDigits(joinQuantity({ whole, micro })),
    productSlug,
    metric,
    per,
    mode,
    level,
  };
  if (level === "near") return [insertLimitMails(notice, "limit_near", { fields, now })];
  return [
    insertLimitMails(notice, "limit_reached", { fields, now }),
    ...(mode === "soft"
      ? []
      : operators.flatMap((to) =>
        insertOperatorLimitMail(notice, to, { fields: { ...fields, organizationId }, now })
      )),
  ];
}

/** How long after its window has ended a limit still causes emails. */
const lateMaxMs = 24 * 3_600_000;

/** @returns Whether the window had ended long before: records with old timestamps would cause emails about every day of the past. */
function isOld({ per, timezone, at, notedAt }: WaitingNotice): boolean {
  const window = limitWindow(per === "minute" || per === "hour" ? "day" : per, timezone, at);
  return window !== null && window.end + lateMaxMs <= notedAt;
}
