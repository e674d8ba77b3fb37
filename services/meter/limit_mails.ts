// Emails about limits of organizations: to their owners and admins, and to operators about hard limits.
import {
  findLimitMailOperators,
  findLimitMailReach,
  findWaitingNotices,
  insertLimitMails,
  insertOperatorLimitMail,
  markNoticeMailed,
  selectNoticeReach,
  type WaitingNotice,
} from "../../db/meter/limit_mails.ts";
import { limitNoticesPerStepMax } from "../../domain/limits.ts";
import type { LimitMailReach, WithheldMails } from "../../domain/outbox/limit_mail_reach.ts";
import { type Catalogue, metricOf, productOf } from "../../domain/meter/catalogue.ts";
import { limitWindow } from "../../domain/meter/limit_window.ts";
import { joinQuantity } from "../../domain/meter/quantity.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { type Access, requirePermission } from "../access/mod.ts";
import type { Context, SessionContext } from "../context.ts";
import { readProductNames } from "./usage.ts";

/**
 * Writes the emails of some notices about limits that have none yet. Each notice is one batch with its emails, so that none is
 * lost and none is written twice. Returns true if there may be more.
 *
 * @param withheld Counts the emails that are not written.
 */
export async function mailLimitNotices(
  { database, clock, mail }: Pick<Context, "database" | "clock" | "mail">,
  withheld: WithheldMails,
): Promise<boolean> {
  const notices = await findWaitingNotices(database, limitNoticesPerStepMax);
  if (notices.length === 0) return false;
  const isSent = mail.mode !== "none";
  const operators = isSent ? await findLimitMailOperators(database) : [];
  const names = await readProductNames({ database });
  for (const notice of notices) {
    const now = clock();
    const mails = isSent ? mailsOf(notice, { operators, names, now }) : [];
    const reach = mails.length === 0 ? [] : [selectNoticeReach(notice)];
    const results = await database.write([...reach, ...mails, markNoticeMailed(notice, now)]);
    const [found] = reach.length === 0 ? [] : results[0]?.rows ?? [];
    if (found === undefined) continue;
    withheld.unconfirmed += Number(found["unconfirmed"]);
    if (found["managers"] === 0) withheld.no_owner++;
  }
  mail.wake();
  return notices.length === limitNoticesPerStepMax;
}

function mailsOf(
  notice: WaitingNotice,
  { operators, names, now }: { operators: readonly string[]; names: Catalogue; now: number },
) {
  const { organizationId, organizationName, whole, micro, productSlug, metric, per, mode, percent } = notice;
  const window = per === "day" || per === "month" ? limitWindow(per, notice.timezone, notice.at) : null;
  if (organizationId === null || whole === null || isOld(notice)) return [];
  const fields = {
    organization: organizationName,
    quantity: groupDigits(joinQuantity({ whole, micro })),
    productSlug,
    metric,
    ...namesOf(notice, names),
    per,
    mode,
    level: percent < 100 ? "near" as const : notice.isRefusal === 1 ? "refused" as const : "reached" as const,
    percent: String(percent),
    ...notice.isAlert === 1 && { alert: "alert" },
    ...notice.keyName !== null && { key: notice.keyName },
    ...window && window.end > now && { timezone: notice.timezone, resetsAt: String(window.end) },
  };
  if (percent < 100) return insertLimitMails(notice, "limit_near", { fields, now });
  return [
    ...insertLimitMails(notice, "limit_reached", { fields, now }),
    ...(mode === "soft"
      ? []
      : operators.flatMap((to) =>
        insertOperatorLimitMail(notice, to, { fields: { ...fields, organizationId }, now })
      )),
  ];
}

function namesOf({ productSlug, metric }: WaitingNotice, names: Catalogue) {
  const { name, unit } = metricOf(names, metric);
  return {
    ...(productSlug !== "" && { productName: productOf(names, productSlug).name }),
    ...(metric !== "" && { metricName: name }),
    ...(unit !== null && { unit }),
  };
}

/** Counts the people who get emails about an organization's limits; null where emails go nowhere. @throws {AppError} `forbidden`. */
export async function readLimitMailReach(
  { database, mail }: Pick<SessionContext, "database" | "mail">,
  access: Access,
): Promise<LimitMailReach | null> {
  requirePermission(access, "usage.read");
  if (mail.mode === "none") return null;
  const readerId = access.role === null ? null : access.actor.user.id;
  return await findLimitMailReach(database, { organizationId: access.organizationId, readerId });
}

/** A limit causes emails until this long after its window has ended. */
const lateMaxMs = 24 * 3_600_000;

/** True if the window had ended long before: records with old timestamps would cause emails about every day of the past. */
function isOld({ per, timezone, at, notedAt }: WaitingNotice): boolean {
  const window = limitWindow(per === "minute" || per === "hour" ? "day" : per, timezone, at);
  return window !== null && window.end + lateMaxMs <= notedAt;
}
