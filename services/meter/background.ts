// The background work on usage and limits.
import { hasUnfilled } from "../../db/meter/aggregation_list.ts";
import { hasDueEvents } from "../../db/meter/event_subjects.ts";
import { hasExpiredHolds } from "../../db/meter/holds.ts";
import { hasLimitRechecks } from "../../db/meter/limit_clearing.ts";
import { hasDueRefills } from "../../db/meter/usage_refill_rows.ts";
import { limitNoticesIntervalMs, timezoneIntervalMs } from "../../domain/limits.ts";
import type { WithheldMails } from "../../domain/outbox/limit_mail_reach.ts";
import { type BackgroundWork, upkeep, whenDue } from "../background_work.ts";
import type { Context } from "../context.ts";
import { deleteSomeKept, recordKeptEvents } from "./collecting.ts";
import { deleteRemovedDimensions, fillDimensions } from "./dimensions.ts";
import { deleteSomeHolds, endExpired } from "./hold_upkeep.ts";
import { LimitCounters } from "./limit_counters.ts";
import { mailLimitNotices } from "./limit_mails.ts";
import { recheckSomeLimits } from "./limit_rechecks.ts";
import { deleteCountersOfRemovedLimits, deleteOldCounters, refreshTimezones } from "./limit_upkeep.ts";
import { deleteSomeOutcomes } from "./request_outcomes.ts";
import { deleteOldUsageRecords } from "./usage_records.ts";
import { writeRefillTurns } from "./usage_refills.ts";

export function meterWork(context: Context, { withheld }: { withheld: WithheldMails }): BackgroundWork[] {
  const counters = new LimitCounters(context, { onError: context.onBackgroundError });
  return [
    {
      name: "update of time zones",
      pauseMs: timezoneIntervalMs,
      step: () => refreshTimezones(context).then(() => false),
    },
    {
      name: "emails about limits",
      pauseMs: limitNoticesIntervalMs,
      step: () => mailLimitNotices(context, withheld),
    },
    whenDue("check of changed limits", () => hasLimitRechecks, () => recheckSomeLimits(context, counters)),
    whenDue("turns of refills", hasDueRefills, () => writeRefillTurns(context)),
    whenDue("sums of new dimensions", () => hasUnfilled, () => fillDimensions(context)),
    whenDue("expired holds", hasExpiredHolds, () => endExpired(context)),
    whenDue("kept events of assigned subjects", () => hasDueEvents, () => recordKeptEvents(context)),
    upkeep("old kept events", () => deleteSomeKept(context)),
    upkeep("old holds", () => deleteSomeHolds(context)),
    upkeep("old outcomes of requests", () => deleteSomeOutcomes(context)),
    upkeep("old usage records", () => deleteOldUsageRecords(context)),
    upkeep("old counters of limits", () => deleteOldCounters(context)),
    upkeep("counters of removed limits", () => deleteCountersOfRemovedLimits(context)),
    upkeep("sums of removed dimensions", () => deleteRemovedDimensions(context)),
  ];
}
