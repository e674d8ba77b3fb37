// The data of a chart, and how it is made from stacked usage.
import { type SeriesColor, seriesColors } from "../../domain/meter/catalogue.ts";
import type { UsageStack } from "../../domain/meter/usage_report.ts";
import type { UsageWindow, WindowUnit } from "../../domain/meter/usage_window.ts";
import type { Measure } from "../text/quantity.ts";
import { windowNames } from "../text/zone.ts";
import { elapsedWords } from "../text/time.ts";
import type { ChartWindow } from "./chart_geometry.ts";

export interface ChartRow extends ChartWindow {
  /** The exact values and their sum, as decimal texts. */
  readonly sums: readonly string[];
  readonly total: string;
  readonly href?: string | undefined;
}

export interface ChartSeries {
  readonly name: string;
  readonly color: SeriesColor;
  readonly href?: string | undefined;
}

export interface ChartProps {
  readonly measure: Measure;
  readonly by: WindowUnit;
  /** In words: `November 1–30, 2026, UTC`. */
  readonly period: string;
  readonly windows: readonly ChartRow[];
  readonly series: readonly ChartSeries[];
  /** The number of parts in one more series; 0 if every part has its own. */
  readonly others: number;
  /** The time before, a line; null to leave it out. `period`: in words. */
  readonly before: {
    readonly period: string;
    readonly values: readonly number[];
    readonly rows: readonly { readonly name: string; readonly total: string }[];
  } | null;
  /** The page that shows the numbers of a chart with many bars; undefined if this one does. */
  readonly numbersHref?: string | undefined;
  /** The window that isn't over yet, and how long it lasted so far: `15 h 12 min`. Those after it are still to come. */
  readonly current: { readonly position: number; readonly elapsed: string } | null;
  readonly isSmall?: boolean;
}

interface ChartOptions extends Pick<ChartProps, "measure" | "by" | "period" | "isSmall" | "numbersHref"> {
  /** `period`: in words. */
  readonly before?: {
    readonly period: string;
    readonly windows: readonly UsageWindow[];
    readonly values: readonly number[];
    readonly sums: readonly string[];
  } | null;
  readonly windows: readonly UsageWindow[];
  readonly timezone: string;
  readonly now: number;
  /** Names a part, such as a product. The color of its series is the part's own or, by default, that of its position. */
  readonly series: (part: string) => Omit<ChartSeries, "color"> & { readonly color?: SeriesColor };
  readonly hrefOf?: (window: UsageWindow) => string | undefined;
}

/** Returns the color of a series without one of its own, by its position; -1 for a part without a series. */
export function seriesColor(index: number): SeriesColor {
  return index >= 0 && index < seriesColors ? index + 1 as SeriesColor : "other";
}

export function chartOf(stack: UsageStack, options: ChartOptions): ChartProps {
  const { windows, timezone, now, by, series, hrefOf, before, ...props } = options;
  const namesOf = (windows: readonly UsageWindow[]) => windowNames(windows, { unit: by, timezone, now });
  const names = namesOf(windows);
  const position = windows.findIndex(({ start, end }) => start <= now && now < end);
  const elapsed = now - (windows[position]?.start ?? now);
  return {
    ...props,
    by,
    windows: stack.windows.map((row, index) => {
      const window = windows[index];
      return {
        ...names[index] ?? { label: "", name: "", startsDay: false },
        ...row,
        href: window && hrefOf?.(window),
      };
    }),
    series: stack.series.map((part, index) => {
      const { color = seriesColor(index), ...named } = series(part);
      return { ...named, color };
    }),
    others: stack.others,
    before: before
      ? {
        ...before,
        rows: namesOf(before.windows).map(({ name }, index) => ({ name, total: before.sums[index] ?? "0" })),
      }
      : null,
    current: position === -1 ? null : { position, elapsed: elapsedWords(elapsed) },
  };
}
