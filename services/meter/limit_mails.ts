// Emails about limits of organizations: to their owners and admins, and to operators about hard limits.
import {
  findLimitMailOperators,
  findLimitMailReach,
  insertLimitMails,
  insertOperatorLimitMail,
  type LimitEvent,
  selectMailReach,
} from "../../db/meter/limit_mails.ts";
import { type EventRow, findUnmailedEvents, markMailed } from "../../db/outbox/mod.ts";
import { mailedEventsPerStepMax } from "../../domain/limits.ts";
import type { EventFacts, LimitFacts } from "../../domain/outbox/event.ts";
import type { LimitMailReach, WithheldMails } from "../../domain/outbox/limit_mail_reach.ts";
import { type Catalogue, metricOf, productOf } from "../../domain/meter/catalogue.ts";
import { limitWindow } from "../../domain/meter/limit_window.ts";
import { joinQuantity } from "../../domain/meter/quantity.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { type Access, requirePermission } from "../access/mod.ts";
import type { Context, SessionContext } from "../context.ts";
import { readProductNames } from "./usage.ts";

/**
 * Writes the emails of some events about limits that have none yet. The emails of each are one batch, so that none is lost and none
 * is written twice. Returns true if there may be more.
 *
 * @param withheld Counts the emails that are not written.
 */
export async function mailLimitNotices(
  { database, clock, mail }: Pick<Context, "database" | "clock" | "mail">,
  withheld: WithheldMails,
): Promise<boolean> {
  const rows = await findUnmailedEvents(database, mailedEventsPerStepMax);
  const last = rows.at(-1);
  if (last === undefined) return false;
  const events = mail.mode === "none" ? [] : rows.map(limitEventOf).filter((event) => event !== null);
  if (events.length > 0) await mailEvents({ database, clock, mail }, events, withheld);
  await database.write([markMailed(last)]);
  return rows.length === mailedEventsPerStepMax;
}

async function mailEvents(
  { database, clock, mail }: Pick<Context, "database" | "clock" | "mail">,
  events: readonly LimitEvent[],
  withheld: WithheldMails,
): Promise<void> {
  const operators = await findLimitMailOperators(database);
  const names = await readProductNames({ database });
  for (const event of events) {
    const mails = mailsOf(event, { operators, names, now: clock() });
    const [reach] = await database.write([selectMailReach(event), ...mails, markMailed(event)]);
    const [found] = reach?.rows ?? [];
    if (found === undefined) continue;
    withheld.unconfirmed += Number(found["unconfirmed"]);
    if (found["managers"] === 0) withheld.no_owner++;
  }
  mail.wake();
}

/** Returns an event about a limit that causes emails, which those of keys don't; null for others. */
function limitEventOf(row: EventRow): LimitEvent | null {
  if (!/^limit\.(approaching|reached|exceeded)$/.test(row.type) || row.webhook !== null) return null;
  const limit: LimitFacts & EventFacts = JSON.parse(row.facts);
  const { isAlert, apiKey } = limit.limit;
  if (!limit.organization || (apiKey !== null && isAlert === 0) || isOld(limit, row.at)) return null;
  return { ...row, limit, organization: limit.organization };
}

function mailsOf(
  event: LimitEvent,
  { operators, names, now }: { operators: readonly string[]; names: Catalogue; now: number },
) {
  const { organization: { id: organizationId, name: organization } } = event;
  const { limit, percent, isRefusal, timezone, usedAt } = event.limit;
  const { per, mode, productSlug, metric, whole, micro, apiKey } = limit;
  const window = per === "day" || per === "month" ? limitWindow(per, timezone, usedAt) : null;
  const fields = {
    organization,
    quantity: groupDigits(joinQuantity({ whole: whole ?? 0, micro: micro ?? 0 })),
    productSlug: productSlug ?? "",
    metric: metric ?? "",
    ...namesOf(limit, names),
    per,
    ...limit.by && { by: limit.by },
    mode,
    level: percent < 100 ? "near" as const : isRefusal === 1 ? "refused" as const : "reached" as const,
    percent: String(percent),
    ...limit.isAlert === 1 && { alert: "alert" },
    ...apiKey && { key: apiKey.name ?? "" },
    ...window && window.end > now && { timezone, resetsAt: String(window.end) },
  };
  if (percent < 100) return insertLimitMails(event, "limit_near", { fields, now });
  return [
    ...insertLimitMails(event, "limit_reached", { fields, now }),
    ...(mode === "soft"
      ? []
      : operators.flatMap((to) =>
        insertOperatorLimitMail(event, to, { fields: { ...fields, organizationId }, now })
      )),
  ];
}

function namesOf({ productSlug, metric }: LimitFacts["limit"], names: Catalogue) {
  const { name, unit } = metricOf(names, metric ?? "");
  return {
    ...(productSlug !== null && { productName: productOf(names, productSlug).name }),
    ...(metric !== null && { metricName: name }),
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
function isOld({ limit: { per }, timezone, usedAt }: LimitFacts, at: number): boolean {
  const window = limitWindow(per === "minute" || per === "hour" ? "day" : per, timezone, usedAt);
  return window !== null && window.end + lateMaxMs <= at;
}
