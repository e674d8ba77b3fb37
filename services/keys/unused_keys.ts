// Emails about API keys that have been unused for 90 days, once a month for each organization.
import {
  findUnusedKeys,
  findUnusedKeysCursor,
  mailUnusedKeys,
  searchEnd,
} from "../../db/keys/unused_keys.ts";
import { unusedKeysOrganizationsMax } from "../../domain/keys/key_limits.ts";
import { isoTime } from "../../domain/time.ts";
import type { Context } from "../context.ts";

/**
 * Takes the next step of this month's search for unused keys. The first server to run this begins with the next month, so that an update
 * sends nothing.
 *
 * @returns True if there may be more.
 */
export async function remindOfUnusedKeys(
  { database, clock, mail }: Pick<Context, "database" | "clock" | "mail">,
): Promise<boolean> {
  if (mail.mode === "none") return false;
  const now = clock();
  const cursor = await findUnusedKeysCursor(database);
  if (cursor.organization === searchEnd) {
    const month = isoTime(now).slice(0, "2026-11".length);
    if (month <= cursor.month) return false;
    const isFirst = cursor.month === "";
    const to = { month, organization: isFirst ? searchEnd : 0 };
    await mailUnusedKeys(database, cursor, { to, found: [], now });
    return !isFirst;
  }
  const limit = unusedKeysOrganizationsMax;
  const read = await findUnusedKeys(database, { after: cursor.organization, now, limit });
  const organization = read.length < limit ? searchEnd : read.at(-1)?.organization ?? searchEnd;
  const found = read.filter(({ keys }) => keys > 0);
  await mailUnusedKeys(database, cursor, { to: { month: cursor.month, organization }, found, now });
  if (found.length > 0) mail.wake();
  return organization !== searchEnd;
}
