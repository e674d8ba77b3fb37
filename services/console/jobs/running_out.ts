// Organizations whose limits per month will be reached before they reset, read by the reports thread.
import { type CounterPosition, findFastLimits } from "../../../db/meter/mod.ts";
import { limitReachedAt } from "../../../domain/meter/limit_pace.ts";
import { limitWindow } from "../../../domain/meter/limit_window.ts";
import { rollupNumber, rollupStart } from "../../../domain/meter/rollup_unit.ts";
import type { RunningOut, RunningOutLimit } from "../../../domain/console/organization_list.ts";
import { isoTime } from "../../../domain/time.ts";
import type { JobContext, JobTime } from "../../reports/job_context.ts";

const hourMs = 3_600_000;
/** The clocks of no zone are further behind UTC. */
const behindMaxMs = 12 * hourMs;
/** Fewer rows take longer in all, more delay other jobs. */
const stepCounters = 2_000;
const shownMax = 5;

/** Estimates from the counters of limits per month: usage that no counter has yet is missing. */
export async function readRunningOut({ database, pause }: JobContext, { now }: JobTime): Promise<RunningOut> {
  // On the first days of a month there is no estimate, so this is the only month with any.
  const month = rollupNumber("month", now - behindMaxMs);
  const [start, end] = [rollupStart("month", month), rollupStart("month", month + 1)];
  const share = Math.max(0, (now - start - behindMaxMs) / (end - start));
  const endOf = monthEnds(now);
  const soonest = new Map<string, RunningOutLimit>();
  let after: CounterPosition | null = { month, usageLimit: 0, organization: 0 };
  while (after !== null) {
    const step: Awaited<ReturnType<typeof findFastLimits>> = await findFastLimits(database, {
      after,
      share,
      now,
      limit: stepCounters,
    });
    for (const row of step.rows) {
      const { used, quantity } = row;
      const standing = {
        per: "month",
        used,
        remaining: quantity - used,
        resetsAt: endOf(row.timezone),
      } as const;
      const reachedAt = limitReachedAt(standing, now);
      if (reachedAt !== null && reachedAt < (soonest.get(row.id)?.reachedAt ?? Infinity)) {
        const { timezone: _zone, ...limit } = row;
        soonest.set(row.id, { ...limit, reachedAt });
      }
    }
    after = step.last;
    await pause();
  }
  const first = [...soonest.values()].toSorted((a, b) => a.reachedAt - b.reachedAt).slice(0, shownMax);
  return { count: soonest.size, first };
}

/** Returns a function that caches the ends of months by time zone. */
function monthEnds(now: number): (timezone: string) => string | null {
  const ends = new Map<string, string | null>();
  return (timezone) => {
    const known = ends.get(timezone);
    if (known !== undefined) return known;
    const window = limitWindow("month", timezone, now);
    const end = window && isoTime(window.end);
    ends.set(timezone, end);
    return end;
  };
}
