// Deletes old events and deliveries, and what belonged to deleted endpoints, in the background.
import { capWebhookTimes, deleteOldWebhookData, upkeepRowsMax } from "../../db/outbox/webhook_upkeep.ts";
import { eventKeptMs, webhookWaitMaxMs } from "../../domain/outbox/webhook_limits.ts";
import type { BaseContext } from "../base_context.ts";

/** Deletes some events, secrets and data of webhooks that are no longer kept, and mends times that are too late. @returns True if there may be more. */
export async function deleteOldEvents(
  { database, clock }: Pick<BaseContext, "database" | "clock">,
): Promise<boolean> {
  const now = clock();
  const results = await database.write([
    ...capWebhookTimes({ now, waitMaxMs: webhookWaitMaxMs }),
    ...deleteOldWebhookData(now - eventKeptMs),
  ]);
  return results.some(({ changes }) => changes >= upkeepRowsMax) || results.at(-1)?.changes === 1;
}
