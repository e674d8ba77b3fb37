// When usage was last recorded for something, by anyone: known to a quarter of an hour.
import { rollupQuarterMs } from "../../domain/limits.ts";
import { presentation } from "../../domain/presentation.ts";
import { isoTime } from "../../domain/time.ts";
import { clockTime, fullDate, relativeTime, zoneWords } from "../text/time.ts";

const hourMs = 3_600_000;

/** @param props `at`: the start of the quarter of an hour; null without usage. */
export function LastUsage(
  { at, now, isInSentence = false }: { at: number | null; now: number; isInSentence?: boolean },
) {
  if (at === null) return <>Never</>;
  const [start, end] = [at, at + rollupQuarterMs].map((time) => clockTime(time).slice(0, 5));
  return (
    <time
      datetime={isoTime(at)}
      title={`${fullDate(at)}, ${start}–${end} ${zoneWords(presentation().timezone)}`}
    >
      {isInSentence
        ? lastUsageWords(at, now).replace(/^(In|Just|Yesterday)\b/, lowered)
        : lastUsageWords(at, now)}
    </time>
  );
}

const lowered = (word: string) => word.toLowerCase();

/** Returns text such as `In the last hour` or `2 hours ago`. */
export function lastUsageWords(at: number, now: number): string {
  return now - at < hourMs ? "In the last hour" : relativeTime(at, now);
}
