// Deletes what is no longer kept of events, deliveries, emails and their links, in the background.
import { deleteExpiredLinks } from "../../db/outbox/link_tokens.ts";
import { deleteExpiredMailBudgets } from "../../db/outbox/mail_budgets.ts";
import { capMailDelays, deleteOldMails } from "../../db/outbox/mails.ts";
import { capWebhookTimes, deleteOldWebhookData, upkeepRowsMax } from "../../db/outbox/webhook_upkeep.ts";
import { mailGiveUpMs, mailRetryMaxMs } from "../../domain/limits.ts";
import { eventKeptMs, webhookWaitMaxMs } from "../../domain/outbox/webhook_limits.ts";
import type { Context } from "../context.ts";

/** Deletes some rows of the outbox that are no longer kept, and mends times that are too late. @returns True if there may be more. */
export async function deleteOldEvents(
  { database, clock, mail }: Pick<Context, "database" | "clock" | "mail">,
): Promise<boolean> {
  const now = clock();
  const limit = upkeepRowsMax;
  const results = await database.write([
    capMailDelays({ now, waitMaxMs: mailRetryMaxMs, limit }),
    deleteExpiredLinks({ now, limit }),
    deleteExpiredMailBudgets({ now, limit }),
    // Without a mail server, emails of an earlier configuration would stay in the outbox forever.
    ...(mail.mode === "none" ? [deleteOldMails({ before: now - mailGiveUpMs, limit })] : []),
    ...capWebhookTimes({ now, waitMaxMs: webhookWaitMaxMs }),
    ...deleteOldWebhookData(now - eventKeptMs),
  ]);
  return results.some(({ changes }) => changes >= limit) || results.at(-1)?.changes === 1;
}
