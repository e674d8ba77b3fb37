// Usage of some days of a month, at the prices of now, to compare an open month with. Read by the reports thread.
import { amountToDecimal } from "../../../domain/billing/price.ts";
import { metricKey } from "../../../domain/billing/statement.ts";
import { microsToDecimal } from "../../../domain/meter/quantity.ts";
import type { UsageWindow } from "../../../domain/meter/usage_window.ts";
import { isoTime } from "../../../domain/time.ts";
import { readUsageSums, type UsageScope } from "../../meter/jobs/mod.ts";
import type { JobContext, JobTime } from "../../reports/job_context.ts";

/** Usage by {@linkcode metricKey}, and its amount: exact decimals. */
export interface MonthPart {
  readonly amount: string | null;
  readonly quantities: ReadonlyMap<string, string>;
}

/** @param part `organizationId`: undefined for all organizations. */
export async function readMonthPart(
  context: JobContext,
  { organizationId, days, now }: JobTime & { organizationId: string | undefined; days: UsageWindow },
): Promise<MonthPart> {
  const scope = organizationId === undefined ? { organizationIds: undefined, now } : { organizationId, now };
  const { data } = await readDays(context, scope, { days, groupBy: ["productSlug", "metric"] });
  const quantities = data.map((sum) =>
    [
      metricKey({ productSlug: sum.productSlug ?? "", metric: sum.metric ?? "" }),
      microsToDecimal(sum.micros),
    ] as const
  );
  return { amount: amountToDecimal(sumAmounts(data)), quantities: new Map(quantities) };
}

/** Reads what each of some organizations has used and what that amounts to. @returns By the organization's id. */
export async function readPartsOf(
  context: JobContext,
  { ids, metric, days, now }: JobTime & {
    ids: readonly string[];
    metric: string | null;
    days: UsageWindow;
  },
): Promise<Map<string, { micros: bigint; amount: bigint | null }>> {
  if (ids.length === 0) return new Map();
  const groupBy = ["organization", "productSlug", "metric"] as const;
  const { data } = await readDays(context, { organizationIds: ids, now }, { days, groupBy });
  return new Map(
    Map.groupBy(data, ({ organizationId }) => organizationId ?? "").entries().map(([id, sums]) => {
      const micros = sums.reduce((sum, one) => one.metric === metric ? sum + one.micros : sum, 0n);
      return [id, { micros, amount: sumAmounts(sums) }] as const;
    }),
  );
}

function readDays(
  context: JobContext,
  scope: UsageScope,
  { days, groupBy }: { days: UsageWindow; groupBy: readonly ("organization" | "productSlug" | "metric")[] },
) {
  const { start, end } = days;
  return readUsageSums(context, {
    ...{ ...scope, from: isoTime(start), to: isoTime(end), window: "total", groupBy },
    include: ["amount"],
  });
}

function sumAmounts(sums: readonly { readonly amount?: bigint | null | undefined }[]): bigint | null {
  return sums.reduce<bigint | null>(
    (sum, { amount }) => amount === null || amount === undefined ? sum : (sum ?? 0n) + amount,
    null,
  );
}
