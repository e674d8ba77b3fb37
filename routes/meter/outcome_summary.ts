// Reads the outcomes of requests of the last 30 days, for pages.
import { keyUsagePeriod } from "../../domain/meter/key_usage.ts";
import { presentation } from "../../domain/presentation.ts";
import { isoTime } from "../../domain/time.ts";
import type { Access } from "../../services/access/mod.ts";
import { listRejections, readUsage } from "../../services/meter/mod.ts";
import type { OutcomeSummary } from "../../views/meter/mod.ts";
import type { AppParts } from "../env.ts";
import { inTime } from "../portal/in_time.ts";

export async function outcomeSummary(
  { services }: Pick<AppParts, "services">,
  access: Access,
  { rejectionsMax }: { rejectionsMax: number },
): Promise<OutcomeSummary> {
  const { timezone } = presentation();
  const { start, end } = keyUsagePeriod(services.clock(), timezone);
  const query = { from: isoTime(start), to: isoTime(end), window: "total", timezone } as const;
  const [counts, { rejections }] = await Promise.all([
    inTime((signal) => readUsage(services, access, { job: "sumOutcomes", query, signal })),
    listRejections(services, access, { limit: rejectionsMax }),
  ]);
  return { counts: counts?.data ?? null, rejections };
}
