// A trend as a small line without axes, next to the number that it illustrates.
// @ts-types="@types/d3-scale"
import { scaleLinear } from "d3-scale";
// @ts-types="@types/d3-shape"
import { line } from "d3-shape";

const width = 96;
const height = 24;
/** A little more than half the stroke, so that it isn't cut off at the edges. */
const inset = 1.5;

/**
 * @param values From the oldest to the newest, none negative.
 * @returns The path of the line in a box of 96 × 24; "" without values.
 */
export function sparklinePath(values: readonly number[]): string {
  const x = scaleLinear().domain([0, Math.max(1, values.length - 1)]).range([inset, width - inset]);
  const y = scaleLinear().domain([0, Math.max(...values, 0) || 1]).range([height - inset, inset]);
  return line<number>().x((_, index) => x(index)).y((value) => y(value)).digits(1)([...values]) ?? "";
}

/** The line, hidden from screen readers. */
export function Sparkline({ values }: { values: readonly number[] }) {
  const isFlat = values.every((value) => value === 0);
  return (
    <svg class={isFlat ? "spark flat" : "spark"} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <path
        d={sparklinePath(values)}
        fill="none"
        stroke-width="1.5"
        stroke-linejoin="round"
        stroke-linecap="round"
      />
    </svg>
  );
}
