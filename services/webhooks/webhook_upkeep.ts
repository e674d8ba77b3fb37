// Deletes old events and deliveries, and what belonged to deleted endpoints, in the background.
import { deleteOldWebhookData, upkeepRowsMax } from "../../db/webhooks/webhook_upkeep.ts";
import { eventKeptMs } from "../../domain/webhooks/webhook_limits.ts";
import type { BaseContext } from "../base_context.ts";

/** Deletes some events and data of webhooks that are no longer kept. @returns True if there may be more. */
export async function deleteOldEvents(
  { database, clock }: Pick<BaseContext, "database" | "clock">,
): Promise<boolean> {
  const results = await database.write(deleteOldWebhookData(clock() - eventKeptMs));
  return results.some(({ changes }) => changes >= upkeepRowsMax) || results.at(-1)?.changes === 1;
}
