// Writes events and emails about keys that expire in seven days or in one.
import { findExpiringKeys, findExpiryCursor, writeExpiryEvents } from "../../db/keys/expiring_keys.ts";
import { expiringKeysOfStepMax, expiryCursorAgeMs } from "../../domain/outbox/webhook_limits.ts";
import type { Context } from "../context.ts";

const dayMs = 86_400_000;

/**
 * Writes the next events of keys that expire soon: one for each key and number of days, with any number of servers. A key whose expiry
 * is set later than that has none. The keys of a step are one email to each recipient.
 *
 * @returns True if there may be more.
 */
export async function noteExpiringKeys(
  { database, clock, mail }: Pick<Context, "database" | "clock" | "mail">,
): Promise<boolean> {
  let isMore = false;
  for (const days of [7, 1] as const) {
    const now = clock();
    const until = now + days * dayMs;
    const from = await findExpiryCursor(database, days);
    const limit = expiringKeysOfStepMax;
    const keys = from.expiresAt === 0 ? [] : await findExpiringKeys(database, { after: from, until, limit });
    // Without keys, the cursor moves once in a while, so that it costs next to nothing.
    if (keys.length === 0 && until - from.expiresAt < expiryCursorAgeMs) continue;
    const isFull = keys.length === limit;
    const to = isFull ? keys.at(-1)! : { expiresAt: until, number: Number.MAX_SAFE_INTEGER };
    const replacedFor = days * dayMs + expiryCursorAgeMs;
    const isMailed = mail.mode !== "none" && keys.length > 0;
    await writeExpiryEvents(database, days, { from, to, keys, now, replacedFor, isMailed });
    if (isMailed) mail.wake();
    isMore ||= isFull;
  }
  return isMore;
}
