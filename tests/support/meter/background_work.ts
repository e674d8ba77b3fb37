// Background work of the meter, when a test says so.
import { type Database, sql } from "../../../db/engine/database.ts";
import { meterWork } from "../../../services/meter/background.ts";
import type { TestApp } from "../app/app.ts";
import { poll } from "../runner/poll.ts";

/** Does work until there is no more of it. @param name As in {@linkcode meterWork}; `counters` waits for those that lack earlier usage. */
export async function doWork(
  { services, opened: { database } }: Pick<TestApp, "services" | "opened">,
  name: string,
): Promise<void> {
  if (name === "counters") return await completeCounters(database);
  const work = meterWork(services, { withheld: { unconfirmed: 0, no_owner: 0 } }).find((one) =>
    one.name === name
  );
  if (work === undefined) throw new Error(`no background work is called ${name}`);
  while (await work.step());
}

/** Waits for counters that were counted while they lacked earlier usage: grants are used once they are complete. */
async function completeCounters(database: Database): Promise<void> {
  await poll(async () =>
    await database.readFirst(sql`SELECT 1 FROM usage_limit_counters c
      JOIN usage_limits l ON l.number = c.usage_limit JOIN organizations o ON o.number = c.organization
      WHERE c.is_known = 0 AND c.sum_high + c.sum_low + c.sum_micro > 0
        AND c.opened_seq >= max(l.created_seq, o.limits_seq)`) === undefined
  );
}
