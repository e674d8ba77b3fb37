// Writes events and emails about keys that expire in seven days or in one.
import { hasExpiringKeys, writeExpiryEvents } from "../../db/keys/expiring_keys.ts";
import { expiringKeysOfStepMax } from "../../domain/outbox/webhook_limits.ts";
import type { Context } from "../context.ts";

/**
 * Writes the next events of keys that expire soon: one for each key and number of days, with any number of servers. A key whose expiry
 * is set later than that has none. The keys of a step are one email to each recipient.
 *
 * @returns True if there may be more.
 */
export async function noteExpiringKeys(
  { database, clock, mail }: Pick<Context, "database" | "clock" | "mail">,
): Promise<boolean> {
  const now = clock();
  if (!await hasExpiringKeys(database, now)) return false;
  const isMailed = mail.mode !== "none";
  const count = await writeExpiryEvents(database, { now, isMailed });
  if (isMailed) mail.wake();
  return count === expiringKeysOfStepMax;
}
