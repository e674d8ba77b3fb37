// The layout of a bar chart, in percent of its width and height: it fits any box, and text keeps its size.
// @ts-types="@types/d3-scale"
import { scaleBand, scaleLinear } from "d3-scale";
import type { WindowUnit } from "../../domain/meter/usage_window.ts";
import { axisNumber } from "../../domain/number_text.ts";
import type { WindowName } from "../text/zone.ts";

/** A window with a value for each series. */
export interface ChartWindow extends WindowName {
  readonly values: readonly number[];
}

const linesWanted = 4;
/** The number of labels that fit: without a year, and with one. */
const labelsMax = { short: { wide: 12, narrow: 4 }, long: { wide: 7, narrow: 3 } } as const;
const shortCharactersMax = 6;
/** Longer numbers don't fit next to the axis. */
const axisCharactersMax = 5;
/** More bars than this are narrow. */
const wideBarsMax = 60;
/** Beyond this number of hours, labels are days. */
const hourLabelsMax = 48;
/** Natural steps between labels. */
const steps = {
  hour: [1, 2, 3, 4, 6, 12, 24],
  day: [1, 2, 5, 7, 10, 15, 30, 60, 90],
  week: [1, 2, 4, 8, 13, 26, 52],
  month: [1, 2, 3, 6, 12, 24, 60, 120],
} as const;

/**
 * Lays out a chart of stacked bars.
 *
 * @param windows In order, without gaps. No value is negative.
 * @param by The length of a window.
 */
export function chartGeometry(windows: readonly ChartWindow[], by: WindowUnit) {
  const highest = Math.max(0, ...windows.map((window) => sum(window.values)));
  const y = scaleLinear().domain([0, highest || 1]).range([100, 0]).nice(linesWanted);
  const top = y.domain()[1] ?? 1;
  const isDense = windows.length > wideBarsMax;
  const slots = scaleBand<number>().domain(windows.keys()).range([0, 100]);
  const bars = slots.copy().paddingInner(isDense ? 0.2 : 0.32).paddingOuter(0.16);
  const lines = y.ticks(linesWanted).map((value) => ({ y: percent(y(value)), text: axisNumber(value, top) }));
  return {
    /** Bars are too narrow for rounded corners and wide gaps. */
    isDense,
    bars: windows.map((window, index) => ({
      slotX: percent(slots(index) ?? 0),
      slotWidth: percent(slots.bandwidth()),
      x: percent(bars(index) ?? 0),
      width: percent(bars.bandwidth()),
      /** From the bottom up, without zeros. `series`: an index. */
      segments: segmentsOf(window.values, y),
    })),
    lines,
    /** Numbers on the axis need more room. */
    hasLongNumbers: lines.some(({ text }) => text.length > axisCharactersMax),
    /** `isWideOnly`: hidden on narrow screens. */
    labels: timeLabels(windows, by).map((label) => ({
      ...label,
      x: percent((bars(label.x) ?? 0) + bars.bandwidth() / 2),
    })),
  };
}

/** @returns The sum without rounding errors: values have at most six decimal places. */
export function sum(values: readonly number[]): number {
  return Number(values.reduce((all, value) => all + value, 0).toFixed(6));
}

function segmentsOf(values: readonly number[], y: (value: number) => number) {
  const segments = [];
  let below = 0;
  for (const [series, value] of values.entries()) {
    if (value <= 0) continue;
    const from = y(below);
    below += value;
    segments.push({ series, y: percent(y(below)), height: percent(from - y(below)) });
  }
  return segments;
}

/** Chooses the labels that fit. Here, `x` is the index of the window. */
function timeLabels(windows: readonly ChartWindow[], by: WindowUnit) {
  const isByDays = by === "hour" && windows.length > hourLabelsMax;
  const candidates = windows.flatMap(({ label, startsDay }, x) =>
    isByDays && !startsDay ? [] : [{ x, text: label, startsDay }]
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
    .map(({ x, text, distance }) => ({ x, text, isWideOnly: distance % narrow !== 0 }));
}

function stepFor(count: number, labelsMax: number, choices: readonly number[]): number {
  return choices.find((step) => count / step <= labelsMax) ?? Math.ceil(count / labelsMax);
}

function percent(value: number): number {
  return Math.round(value * 100) / 100;
}
