// Emails about API keys that have been unused for 90 days, once a month for each organization.
import {
  beginUnusedKeysMonth,
  findSearchStep,
  findUnusedKeysCursor,
  findUnusedKeysNotes,
  mailUnusedKeys,
  noteUnusedKeys,
  searchEnd,
} from "../../db/keys/unused_keys.ts";
import { unusedKeyMailsOfStepMax, unusedKeysOfStepMax } from "../../domain/keys/key_limits.ts";
import { isoTime } from "../../domain/time.ts";
import type { Context } from "../context.ts";

/**
 * Takes the next step of this month's search for unused keys, or of its emails. The first server to run this begins with the next month, so
 * that an update sends nothing.
 *
 * @returns True if there may be more.
 */
export async function remindOfUnusedKeys(
  { database, clock, mail }: Pick<Context, "database" | "clock" | "mail">,
): Promise<boolean> {
  if (mail.mode === "none") return false;
  const now = clock();
  const cursor = await findUnusedKeysCursor(database);
  if (cursor.key !== searchEnd) {
    const to = await findSearchStep(database, cursor.key, unusedKeysOfStepMax);
    await noteUnusedKeys(database, cursor, { to, now });
    return true;
  }
  const notes = await findUnusedKeysNotes(database, unusedKeyMailsOfStepMax);
  if (notes.length > 0) {
    await mailUnusedKeys(database, notes, now);
    mail.wake();
    return true;
  }
  const month = isoTime(now).slice(0, "2026-11".length);
  if (month <= cursor.month) return false;
  const isFirst = cursor.month === "";
  await beginUnusedKeysMonth(database, cursor, { month, key: isFirst ? searchEnd : 0 });
  return !isFirst;
}
