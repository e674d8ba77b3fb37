// Sentences about the use of a key.
import type { ApiKey } from "../../domain/api_key.ts";
import { type Measure, measureNoun, quantityWords } from "../text/quantity.ts";
import { fullDate, relativeTime } from "../text/time.ts";

/** The usage of a key today, of its main metric. */
export interface UsageToday {
  readonly metric: Measure;
  /** An exact decimal text. */
  readonly today: string;
}

const recentMs = 6 * 24 * 3_600_000;

/** Says when a key was used: `Used 2 minutes ago`, `Used on Nov 2, 2026`, `Never used`. */
function usedText({ lastUsedAt }: Pick<ApiKey, "lastUsedAt">, now: number): string {
  if (lastUsedAt === null) return "Never used";
  const at = Date.parse(lastUsedAt);
  if (now - at >= recentMs) return `Used on ${fullDate(at)}`;
  const when = relativeTime(at, now);
  return `Used ${when.charAt(0).toLowerCase()}${when.slice(1)}`;
}

/** Says what revoking a key breaks. `today`: null if it is not available. */
export function revokeWarning(
  apiKey: Pick<ApiKey, "lastUsedAt">,
  { now, today }: { now: number; today: UsageToday | null },
): string {
  const used = usedText(apiKey, now);
  const quantity = today === null || Number(today.today) === 0 ? "" : `, ${todayText(today)} today`;
  return `${used}${quantity}. Requests with this key will fail immediately. This can't be undone.`;
}

function todayText({ metric, today }: UsageToday): string {
  return `${quantityWords(today, metric)}${metric.unit === null ? ` ${measureNoun(metric)}` : ""}`;
}
