// A trend as a small line without axes, next to the number that it illustrates.
const width = 84;
const height = 24;
/** A little more than half the stroke, so that it isn't cut off at the edges. */
const inset = 1.5;

/** Returns points of a line in a box of 84 × 24, from zero at the bottom to the highest value. The newest is last. */
export function sparklinePoints(values: readonly number[]): { readonly x: number; readonly y: number }[] {
  const highest = Math.max(...values, 0) || 1;
  const step = (width - 2 * inset) / Math.max(1, values.length - 1);
  const round = (value: number) => Math.round(value * 10) / 10;
  return values.map((value, index) => ({
    x: round(inset + index * step),
    y: round(height - inset - value / highest * (height - 2 * inset)),
  }));
}

/** The line, hidden from screen readers. The newest value is that of a day which isn't over, so the way to it is dotted. */
export function Sparkline({ values }: { values: readonly number[] }) {
  const points = sparklinePoints(values);
  const isUnused = values.every((value) => value === 0);
  return (
    <svg class="spark" viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {isUnused ? <path class="none" d={`M0 ${height - inset}H${width}`} /> : (
        <>
          <path d={pathOf(points.slice(0, -1))} />
          <path class="today" d={pathOf(points.slice(-2))} />
        </>
      )}
    </svg>
  );
}

function pathOf(points: readonly { readonly x: number; readonly y: number }[]): string {
  return points.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join("");
}
