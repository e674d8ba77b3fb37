// The background work on keys and portal sessions.
import { unusedKeysIntervalMs } from "../../domain/keys/key_limits.ts";
import { expiringKeysIntervalMs } from "../../domain/outbox/webhook_limits.ts";
import { type BackgroundWork, upkeep } from "../background_work.ts";
import type { Context } from "../context.ts";
import { noteExpiringKeys } from "./expiring_keys.ts";
import { deleteOldPortalSessions } from "./portal_sessions.ts";
import { remindOfUnusedKeys } from "./unused_keys.ts";

export function keysWork(context: Context): BackgroundWork[] {
  return [
    {
      name: "events and emails about expiring keys",
      pauseMs: expiringKeysIntervalMs,
      step: () => noteExpiringKeys(context),
    },
    {
      name: "emails about unused keys",
      pauseMs: unusedKeysIntervalMs,
      step: () => remindOfUnusedKeys(context),
    },
    upkeep("old portal sessions", () => deleteOldPortalSessions(context)),
  ];
}
