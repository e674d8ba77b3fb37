// Where everything on the chart lies, in percent of the drawing's width and height: so it fits any box, and its text
// keeps its size.
// @ts-types="@types/d3-scale"
import { scaleBand, scaleLinear } from "d3-scale";
import type { WindowUnit } from "../../domain/meter/usage_window.ts";
import { axisNumber } from "../../domain/number_text.ts";
import type { WindowName } from "../text/zone.ts";

/** One stretch of time with its names, and one value for each series. */
export interface ChartWindow extends WindowName {
  readonly values: readonly number[];
}

/** One part of a bar. */
export interface Segment {
  /** Which series, from 0. */
  readonly series: number;
  readonly y: number;
  readonly height: number;
}

/** One bar and the slot that it stands in. */
export interface Bar {
  readonly slotX: number;
  readonly slotWidth: number;
  readonly x: number;
  readonly width: number;
  /** From the foot up, without those of value 0. */
  readonly segments: readonly Segment[];
}

/** A label under the bars. */
export interface TimeLabel {
  readonly x: number;
  readonly text: string;
  /** There is room for it on wide screens only. */
  readonly isWideOnly: boolean;
}

/** The whole drawing. */
export interface ChartGeometry {
  readonly bars: readonly Bar[];
  /** The bars are too thin for rounded corners and wide seams. */
  readonly isDense: boolean;
  readonly lines: readonly { readonly y: number; readonly text: string }[];
  /** The numbers at the lines need more room than most. */
  readonly hasLongNumbers: boolean;
  readonly labels: readonly TimeLabel[];
}

const linesWanted = 4;
/** Labels that fit on wide screens and on a phone: short ones, and those with a year. */
const labelsMax = { short: { wide: 12, narrow: 4 }, long: { wide: 7, narrow: 3 } } as const;
const shortCharactersMax = 6;
/** Numbers of more characters than this do not fit beside the axis. */
const axisCharactersMax = 5;
/** More bars than this are thin. */
const wideBarsMax = 60;
/** More hours than this are labelled by their days. */
const hourLabelsMax = 48;
/** Steps between labels that people count in. */
const steps = {
  hour: [1, 2, 3, 4, 6, 12, 24],
  day: [1, 2, 5, 7, 10, 15, 30, 60, 90],
  week: [1, 2, 4, 8, 13, 26, 52],
  month: [1, 2, 3, 6, 12, 24, 60, 120],
} as const;

/**
 * Lays out a chart of stacked bars.
 *
 * @param windows In order, without gaps; no value is negative.
 * @param by How long each window is.
 * @returns Positions in percent, from the top left.
 */
export function chartGeometry(windows: readonly ChartWindow[], by: WindowUnit): ChartGeometry {
  const highest = Math.max(0, ...windows.map((window) => sum(window.values)));
  const y = scaleLinear().domain([0, highest || 1]).range([100, 0]).nice(linesWanted);
  const top = y.domain()[1] ?? 1;
  const isDense = windows.length > wideBarsMax;
  const slots = scaleBand<number>().domain(windows.keys()).range([0, 100]);
  const bars = slots.copy().paddingInner(isDense ? 0.2 : 0.32).paddingOuter(0.16);
  const lines = y.ticks(linesWanted).map((value) => ({ y: percent(y(value)), text: axisNumber(value, top) }));
  return {
    isDense,
    bars: windows.map((window, index) => ({
      slotX: percent(slots(index) ?? 0),
      slotWidth: percent(slots.bandwidth()),
      x: percent(bars(index) ?? 0),
      width: percent(bars.bandwidth()),
      segments: segmentsOf(window.values, y),
    })),
    lines,
    hasLongNumbers: lines.some(({ text }) => text.length > axisCharactersMax),
    labels: timeLabels(windows, by).map((label) => ({
      ...label,
      x: percent((bars(label.x) ?? 0) + bars.bandwidth() / 2),
    })),
  };
}

/** @returns The sum, without the crumbs that adding decimals leaves: values have six decimal places at most. */
export function sum(values: readonly number[]): number {
  return Number(values.reduce((all, value) => all + value, 0).toFixed(6));
}

function segmentsOf(values: readonly number[], y: (value: number) => number): Segment[] {
  const segments: Segment[] = [];
  let below = 0;
  for (const [series, value] of values.entries()) {
    if (value <= 0) continue;
    const from = y(below);
    below += value;
    segments.push({ series, y: percent(y(below)), height: percent(from - y(below)) });
  }
  return segments;
}

/** Chooses the labels that fit; `x` is still the number of the window. */
function timeLabels(windows: readonly ChartWindow[], by: WindowUnit): TimeLabel[] {
  const isByDays = by === "hour" && windows.length > hourLabelsMax;
  const places = windows.flatMap(({ label, startsDay }, x) =>
    isByDays && !startsDay ? [] : [{ x, text: label, startsDay }]
  );
  const isShort = places.every(({ text }) => text.length <= shortCharactersMax);
  const most = labelsMax[isShort ? "short" : "long"];
  const wide = stepFor(places.length, most.wide, steps[isByDays ? "day" : by]);
  const wideCount = Math.ceil(places.length / wide);
  const narrow = wide * Math.ceil(wideCount / most.narrow);
  // Counted from the first window; hours from midnight, so that the day's name is among the labels.
  const midnight = isByDays ? 0 : Math.max(0, places.findIndex((place) => place.startsDay));
  return places
    .map((place, index) => ({ ...place, distance: Math.abs(index - midnight) }))
    .filter((place) => place.distance % wide === 0)
    .map(({ x, text, distance }) => ({ x, text, isWideOnly: distance % narrow !== 0 }));
}

function stepFor(count: number, labelsMax: number, choices: readonly number[]): number {
  return choices.find((step) => count / step <= labelsMax) ?? Math.ceil(count / labelsMax);
}

function percent(value: number): number {
  return Math.round(value * 100) / 100;
}
