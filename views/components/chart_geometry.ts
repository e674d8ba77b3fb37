// The layout of a bar chart, in percent of its width and height: it fits any box, and text keeps its size.
import type { WindowUnit } from "../../domain/meter/usage_window.ts";
import { axisText, axisUnit, type Measure } from "../text/quantity.ts";
import type { WindowName } from "../text/zone.ts";

/** A window with a value for each series, none negative. */
export interface ChartWindow extends WindowName {
  readonly values: readonly number[];
}

/** The lines above zero. With the steps below, there are at least three, except for very small whole numbers. */
const linesMax = 4;
const lineSteps = [1, 2, 2.5, 5, 10];
/** The number of labels that fit: without a year, and with one. */
const labelsMax = { short: { wide: 12, narrow: 4 }, long: { wide: 7, narrow: 3 } } as const;
const shortCharactersMax = 6;
/** Longer numbers don't fit next to the axis. */
const axisCharactersMax = 5;
/** More bars than this are narrow. */
export const wideBarsMax = 60;
/** The part of its slot that a bar fills. */
const barWidth = { wide: 0.7, dense: 0.84 } as const;
/** The maximum width of a bar, in percent of the chart. */
const barWidthMax = 12;
/** Beyond this number of days, labels are days. */
const hourLabelDaysMax = 2;
/** Allowed steps between labels. */
const steps: Readonly<Record<WindowUnit, readonly number[]>> = {
  "hour": [1, 2, 3, 4, 6, 12, 24],
  "4h": [1, 3, 6],
  "6h": [1, 2, 4],
  "day": [1, 2, 4, 7, 14, 30, 60, 90],
  "week": [1, 2, 4, 8, 13, 26, 52],
  "month": [1, 2, 3, 6, 12, 24, 60, 120],
};
/** Windows of a day. */
const perDay: Readonly<Partial<Record<WindowUnit, number>>> = { "hour": 24, "4h": 6, "6h": 4 };

/** Lays out a chart of stacked bars. `windows`: in order, without gaps. `before`: the totals of the time before, a line. */
export function chartGeometry(
  windows: readonly ChartWindow[],
  { by, measure, before = [] }: { by: WindowUnit; measure: Measure; before?: readonly number[] | undefined },
) {
  const lines = linesOf([...windows.map(({ values }) => values), ...before.map((value) => [value])], measure);
  const top = lines.at(-1) ?? 1;
  const isDense = windows.length > wideBarsMax;
  const slot = 100 / windows.length;
  const width = Math.min(slot * barWidth[isDense ? "dense" : "wide"], barWidthMax);
  const texts = lines.map((value) => axisText(value, measure));
  return {
    isDense,
    bars: windows.map(({ values }, index) => ({
      x: percent((index + 0.5) * slot - width / 2),
      width: percent(width),
      /** From the bottom up, without zeros. `series`: an index. */
      segments: segmentsOf(values, top),
    })),
    /** Where the line goes through the middle of each bar. */
    before: before.slice(0, windows.length).map((value, index) => ({
      x: percent((index + 0.5) * slot),
      y: percent(100 - value / top * 100),
    })),
    lines: lines.map((value, index) => ({ y: percent(100 - value / top * 100), text: texts[index] ?? "" })),
    hasLongNumbers: texts.some((text) => text.length > axisCharactersMax),
    /** `isWideOnly`: hidden on narrow screens. */
    labels: timeLabels(windows, by).map((label) => ({ ...label, x: percent((label.index + 0.5) * slot) })),
  };
}

/** Adds up without rounding errors: values have at most six decimal places. */
export function sum(values: readonly number[]): number {
  return Number(values.reduce((all, value) => all + value, 0).toFixed(6));
}

/** Returns round numbers from zero to one that no bar exceeds: whole ones if all values are whole. */
function linesOf(stacks: readonly (readonly number[])[], measure: Measure): number[] {
  const highest = Math.max(0, ...stacks.map(sum));
  const unit = axisUnit(highest, measure);
  const isWhole = unit === 1 && stacks.every((values) => values.every(Number.isInteger));
  const least = highest / unit / linesMax;
  const magnitude = 10 ** Math.floor(Math.log10(least || 1));
  const step = highest === 0
    ? 1
    : lineSteps.map((one) => Number((one * magnitude).toPrecision(2))).find((one) =>
      one >= least && (!isWhole || Number.isInteger(one))
    ) ?? 1;
  const count = highest === 0 ? 1 : Math.max(2, Math.ceil(Number((highest / unit / step).toPrecision(12))));
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step * unit).toPrecision(12)));
}

function segmentsOf(values: readonly number[], top: number) {
  const segments = [];
  let below = 0;
  for (const [series, value] of values.entries()) {
    if (value <= 0) continue;
    const from = below;
    below += value;
    const y = 100 - Math.min(below / top, 1) * 100;
    segments.push({ series, y: percent(y), height: percent(100 - from / top * 100 - y) });
  }
  return segments;
}

function timeLabels(windows: readonly ChartWindow[], by: WindowUnit) {
  const isByDays = windows.length > hourLabelDaysMax * (perDay[by] ?? Infinity);
  const candidates = windows.flatMap(({ label, startsDay }, index) =>
    isByDays && !startsDay ? [] : [{ index, text: label, startsDay }]
  );
  const isShort = candidates.every(({ text }) => text.length <= shortCharactersMax);
  const most = labelsMax[isShort ? "short" : "long"];
  const wide = stepFor(candidates.length, most.wide, steps[isByDays ? "day" : by]);
  const wideCount = Math.ceil(candidates.length / wide);
  const narrow = wide * Math.ceil(wideCount / most.narrow);
  // Hours are counted from midnight, so that the name of the day is among the labels.
  const midnight = isByDays ? 0 : Math.max(0, candidates.findIndex(({ startsDay }) => startsDay));
  return candidates
    .map((label, index) => ({ ...label, distance: Math.abs(index - midnight) }))
    .filter(({ distance }) => distance % wide === 0)
    .map(({ index, text, distance }) => ({ index, text, isWideOnly: distance % narrow !== 0 }));
}

function stepFor(count: number, labelsMax: number, choices: readonly number[]): number {
  return choices.find((step) => count / step <= labelsMax) ?? Math.ceil(count / labelsMax);
}

function percent(value: number): number {
  return Math.round(value * 100) / 100;
}
