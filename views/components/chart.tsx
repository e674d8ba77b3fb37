// Usage over time as stacked bars, and as a table below them. Positions are percentages and text is not scaled, so it is as
// large on a phone as on a desktop.
import type { WindowUnit } from "../../domain/meter/usage_window.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { chartGeometry, type ChartWindow } from "./chart_geometry.ts";

/** A window of the chart and of the table. */
export interface ChartRow extends ChartWindow {
  /** The exact values and their sum, as decimal strings. */
  readonly sums: readonly string[];
  readonly total: string;
}

/** The data of a chart. */
export interface ChartProps {
  /** For screen readers. */
  readonly title: string;
  readonly description: string;
  /** In order, without gaps. */
  readonly windows: readonly ChartRow[];
  /** The names of a window's values, at most six. */
  readonly series: readonly string[];
  /** Such as `requests`. */
  readonly unit: string;
  readonly by: WindowUnit;
  /** The position of the window that isn't over yet: its bar is hatched. */
  readonly current?: number;
}

export const unitNames: Readonly<Record<WindowUnit, string>> = {
  hour: "Hour",
  day: "Day",
  week: "Week",
  month: "Month",
};

/** The colors of the series, if there are several. */
export function ChartLegend({ series }: { series: readonly string[] }) {
  if (series.length < 2) return null;
  return (
    <ul class="legend">
      {series.map((name, index) => (
        <li>
          <i class={`swatch series-${index + 1}`} aria-hidden="true"></i>
          {name}
        </li>
      ))}
    </ul>
  );
}

/** The bars. */
export function Chart(props: ChartProps) {
  const { bars, lines, labels, isDense, hasLongNumbers } = chartGeometry(props.windows, props.by);
  const classes = ["chart", isDense ? "dense" : "", hasLongNumbers ? "long-numbers" : ""];
  return (
    <div class="chart-box">
      <svg
        class={classes.filter((one) => one !== "").join(" ")}
        role="img"
        aria-labelledby="chart-title chart-description"
      >
        <title id="chart-title">{props.title}</title>
        <desc id="chart-description">{props.description}</desc>
        <pattern id="so-far" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect class="hatch" width="3" height="6" />
        </pattern>
        {lines.map((line) => (
          <>
            <line class="grid" x1="0" x2="100%" y1={`${line.y}%`} y2={`${line.y}%`} />
            <text x="-10" y={`${line.y}%`} dy="0.33em" text-anchor="end">{line.text}</text>
          </>
        ))}
        {bars.map((bar, index) => (
          <g class="bar">
            <title>{tooltip(props, index)}</title>
            <rect class="slot" x={`${bar.slotX}%`} width={`${bar.slotWidth}%`} y="0" height="100%" />
            {bar.segments.map((part) => (
              <rect
                class={`series-${part.series + 1}`}
                x={`${bar.x}%`}
                width={`${bar.width}%`}
                y={`${part.y}%`}
                height={`${part.height}%`}
                rx={isDense ? "0" : "2"}
              />
            ))}
            {bar.segments.slice(1).map((part) => {
              const foot = `${Math.round((part.y + part.height) * 100) / 100}%`;
              return <line class="seam" x1={`${bar.x}%`} x2={`${bar.x + bar.width}%`} y1={foot} y2={foot} />;
            })}
            {index === props.current && <SoFar {...bar} />}
          </g>
        ))}
        <line class="axis" x1="0" x2="100%" y1="100%" y2="100%" />
        {labels.map((label) => (
          <text
            class={label.isWideOnly ? "wide-only" : undefined}
            x={`${label.x}%`}
            y="100%"
            dy="20"
            text-anchor="middle"
          >
            {label.text}
          </text>
        ))}
      </svg>
    </div>
  );
}

/** Stripes over a bar that isn't complete. */
function SoFar({ x, width, segments }: { x: number; width: number; segments: readonly { y: number }[] }) {
  const top = segments.at(-1)?.y ?? 100;
  return (
    <>
      <rect x={`${x}%`} width={`${width}%`} y={`${top}%`} height={`${100 - top}%`} fill="url(#so-far)" />
      <text x={`${x + width / 2}%`} y={`${top}%`} dy="-8" text-anchor="middle">so far</text>
    </>
  );
}

/** The numbers of the chart. */
export function ChartTable({ windows, series, by, unit }: ChartProps) {
  const isStacked = series.length > 1;
  return (
    <details class="numbers">
      <summary>Show as table</summary>
      <div class="scroll" tabindex={0} role="region" aria-label="Chart data">
        <table>
          <thead>
            <tr>
              <th scope="col">{unitNames[by]}</th>
              {isStacked ? series.map((name) => <th scope="col" class="num">{name}</th>) : null}
              <th scope="col" class="num">{isStacked ? "Total" : unit}</th>
            </tr>
          </thead>
          <tbody>
            {windows.map((window) => (
              <tr>
                <th scope="row">{window.name}</th>
                {isStacked ? window.sums.map((sum) => <td class="num">{groupDigits(sum)}</td>) : null}
                <td class="num">{groupDigits(window.total)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** The tooltip of a bar: `Nov 21: 1,902 requests (tiles 1,600, search 302)`. */
function tooltip({ windows, series, unit }: ChartProps, index: number): string {
  const window = windows[index];
  if (window === undefined) return "";
  const total = `${window.name}: ${groupDigits(window.total)} ${unit}`;
  const parts = series.map((name, at) => `${name} ${groupDigits(window.sums[at] ?? "0")}`);
  return parts.length < 2 ? total : `${total} (${parts.join(", ")})`;
}
