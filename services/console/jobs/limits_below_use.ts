// Searches for organizations that already use more than new limits allow, on the reports thread.
import type { Database } from "../../../db/engine/database.ts";
import { parseLimits, selectAdded } from "../../../db/meter/mod.ts";
import {
  findLimitedOrganizations,
  type LimitedOrganizationRow,
  type LimitedOrganizations,
  sumUse,
} from "../../../db/billing/mod.ts";
import {
  limitsBelowUseSearchMs,
  limitsBelowUseShownMax,
  limitsBelowUseStepMax,
  usageStepSeriesMax,
} from "../../../domain/limits.ts";
import { limitWindow } from "../../../domain/meter/limit_window.ts";
import { microsToNumber, splitQuantity, sumMicros, type SumParts } from "../../../domain/meter/quantity.ts";
import { hasScopeOf } from "../../../domain/meter/usage_limit.ts";
import type {
  CountedNumber,
  LimitBelowUse,
  LimitsBelowUse,
  LoweredLimits,
} from "../../../domain/billing/lowered_limits.ts";
import { type JobContext, type JobTime, pauseAfterSlices } from "../../reports/job_context.ts";

/** Organizations with their future limits. Overrides of organizations of a plan are respected. */
interface LimitUseQuery extends JobTime {
  readonly which: LimitedOrganizations;
  readonly lowered: LoweredLimits;
}

/** Finds organizations that use more in the current windows, as far as time allows. */
export async function searchLimitsBelowUse(
  context: JobContext,
  { which, lowered, now }: LimitUseQuery,
): Promise<LimitsBelowUse> {
  const counted = Object.keys(lowered.numbers) as CountedNumber[];
  const pause = pauseAfterSlices(context);
  const endsAt = performance.now() + limitsBelowUseSearchMs;
  const found: LimitBelowUse[] = [];
  let organizationCount = 0;
  let after = 0;
  for (;;) {
    const limit = limitsBelowUseStepMax;
    const next = await findLimitedOrganizations(context.database, which, { counted, after, limit, now });
    let series = 0;
    const rows = next.filter((one, index) => (series += one.series) <= usageStepSeriesMax || index === 0);
    const step = { rows, lowered, isPlan: "planId" in which, now };
    const below = [...countsBelowUse(step), ...await usageBelowUse(context.database, step, pause)];
    organizationCount += new Set(below.map(({ organization }) => organization.id)).size;
    found.push(...below.slice(0, limitsBelowUseShownMax - found.length));
    if (rows.length === next.length && next.length < limit) {
      return { organizationCount, found, isComplete: true };
    }
    if (performance.now() > endsAt) return { organizationCount, found, isComplete: false };
    after = rows.at(-1)?.number ?? after;
    await pause();
  }
}

interface Step {
  readonly rows: readonly LimitedOrganizationRow[];
  readonly lowered: LoweredLimits;
  readonly isPlan: boolean;
  readonly now: number;
}

function countsBelowUse({ rows, lowered, isPlan }: Step): LimitBelowUse[] {
  const allowed = Object.entries(lowered.numbers) as [CountedNumber, number][];
  return rows.flatMap(({ id, name, counts, ...row }) => {
    const used: Partial<Record<CountedNumber, number>> = JSON.parse(counts);
    return allowed.filter(([what]) => !(isPlan && row[what] !== null))
      .map(([what, allowed]) => ({ organization: { id, name }, what, allowed, used: used[what] ?? 0 }))
      .filter(({ allowed, used }) => used > allowed);
  });
}

async function usageBelowUse(
  database: Database,
  { rows, lowered, isPlan, now }: Step,
  pause: () => Promise<void>,
): Promise<LimitBelowUse[]> {
  const found: LimitBelowUse[] = [];
  for (const { quantity, productSlug, metric, per } of lowered.limits) {
    const what = { productSlug, metric, per };
    const limited = rows.filter(({ limits }) =>
      !(isPlan && parseLimits(limits).some((own) => hasScopeOf(own, what)))
    );
    const { whole = 0, micro = 0 } = splitQuantity(quantity) ?? {};
    const allowed = BigInt(whole) * 1_000_000n + BigInt(micro);
    for (const [timezone, ofZone] of Map.groupBy(limited, ({ timezone }) => timezone)) {
      const organizations = new Map(ofZone.map((row) => [row.number, row]));
      const window = limitWindow(what.per, timezone, now);
      const granted = new Map<number, bigint>();
      const added = selectAdded(what, { organizations: [...organizations.keys()], now });
      for (const row of await database.read<SumParts & { organization: number }>(added)) {
        granted.set(row.organization, sumMicros(row));
      }
      for (const sums of await sumUse(database, what, [...organizations.keys()], window)) {
        const { id = "", name = "" } = organizations.get(sums.organization) ?? {};
        const used = sumMicros(sums);
        const raised = allowed + (granted.get(sums.organization) ?? 0n);
        if (used > raised) {
          const numbers = { allowed: microsToNumber(raised), used: microsToNumber(used) };
          found.push({ organization: { id, name }, what, ...numbers });
        }
      }
      await pause();
    }
  }
  return found;
}
