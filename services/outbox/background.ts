// The background work on webhooks and events. Deliveries and emails have workers of their own, which are only woken here.
import { hasDueWebhooks } from "../../db/outbox/deliveries.ts";
import { retentionIntervalMs } from "../../domain/limits.ts";
import { type BackgroundWork, upkeep } from "../background_work.ts";
import type { Context } from "../context.ts";
import { deleteOldEvents } from "./upkeep.ts";

export function outboxWork(context: Context): BackgroundWork[] {
  const wakeWebhooks = () => {
    context.webhooks.wake();
    return Promise.resolve(false);
  };
  return [
    { name: "webhooks", due: hasDueWebhooks, pauseMs: retentionIntervalMs, step: wakeWebhooks },
    upkeep("old events and webhook deliveries", () => deleteOldEvents(context)),
  ];
}
