// Usage of the last week, to compare a limit with.
import { weekMs } from "../../../domain/meter/limit_pace.ts";
import { isoTime } from "../../../domain/time.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";
import { readUsageSums } from "./usage_sums.ts";

/** Adds up live usage by product and metric. Leaves out metrics whose usage isn't a sum: they have no rate. */
export async function sumRecentUsage(
  context: JobContext,
  { organizationId, now, apiKey }: JobScope & { readonly apiKey?: readonly string[] | undefined },
) {
  const { data } = await readUsageSums(context, {
    ...{ organizationId, now, apiKey, window: "total", environment: "live", mergeRotations: true },
    ...{ from: isoTime(now - weekMs), to: isoTime(now), groupBy: ["productSlug", "metric"] },
  });
  return data.filter(({ aggregation }) => aggregation === "sum")
    .map(({ productSlug = "", metric = "", micros }) => ({ productSlug, metric, micros }));
}
