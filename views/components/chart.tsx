// Usage over time as stacked bars, with a legend and a table of the same numbers. Positions are percentages and text is not
// scaled, so it is as large on a phone as on a desktop.
import type { SeriesColor } from "../../domain/meter/catalogue.ts";
import type { WindowUnit } from "../../domain/meter/usage_window.ts";
import { perWindow, unitNames } from "../text/quantity.ts";
import { chartGeometry, wideBarsMax } from "./chart_geometry.ts";
import { ChartHits } from "./chart_hits.tsx";
import type { ChartProps, ChartSeries } from "./chart_props.ts";
import { Icon } from "./icon.tsx";
import { Quantity } from "./quantity.tsx";

/** `hasLegend`: false if a table below is the legend. */
export function Chart({ hasLegend = true, ...props }: ChartProps & { hasLegend?: boolean }) {
  const { series, others } = props;
  const all = others === 0 ? series : [...series, { name: `${others} others`, color: "other" as const }];
  return (
    <div class="chart">
      <Plot {...props} series={all} />
      {hasLegend && <Legend series={all} />}
      <ChartTable {...props} series={all} />
    </div>
  );
}

/** In percent: a label from here on would touch that of the last bar. */
const clearOfNow = 92;
/** On narrow screens, in place of `clearOfNow`. */
const clearOfNowNarrow = 78;

function Plot(props: ChartProps) {
  const { windows, series, measure, by, current, period, isSmall } = props;
  const layout = chartGeometry(windows, { by, measure, before: props.before?.values });
  const { bars, lines, labels, before, isDense, hasLongNumbers } = layout;
  const classes = [
    "plot",
    isSmall ? "small" : "",
    isDense ? "dense" : "",
    hasLongNumbers ? "long-numbers" : "",
  ];
  const nowName = current?.position === windows.length - 1 ? nowNames[by] : undefined;
  return (
    <div class={classes.filter((one) => one !== "").join(" ")}>
      <svg
        role="img"
        aria-label={`${perWindow(measure, by)}, ${period}. The table below has the same numbers.`}
      >
        {current && <Hatches colors={series.map(({ color }) => color)} />}
        {lines.map(({ y, text }, index) => (
          <>
            <line class={index === 0 ? "axis" : "grid"} x1="0" x2="100%" y1={`${y}%`} y2={`${y}%`} />
            <text x="0" y={`${y}%`} dx="-10" dy="4" text-anchor="end">{text}</text>
          </>
        ))}
        <Bars bars={bars} series={series} current={current?.position} before={before} />
        {current && <SoFar bar={bars[current.position]} nowName={nowName} />}
        {labels.map(({ x, text, isWideOnly }) =>
          nowName !== undefined && x > clearOfNow ? null : (
            <text
              class={isWideOnly || nowName !== undefined && x > clearOfNowNarrow ? "wide" : undefined}
              x={`${x}%`}
              y="100%"
              dy="19"
              text-anchor="middle"
            >
              {text}
            </text>
          )
        )}
      </svg>
      <ChartHits {...props} isDense={isDense} />
    </div>
  );
}

type BarProps = ReturnType<typeof chartGeometry>["bars"][number];

/** All bars, in one path for each series. The one that isn't complete is striped, which must not be stretched with the box. */
function Bars(
  { bars, series, current, before }: {
    bars: readonly BarProps[];
    series: readonly ChartSeries[];
    current: number | undefined;
    before: ReturnType<typeof chartGeometry>["before"];
  },
) {
  const open = current === undefined ? undefined : bars[current];
  const parts = bars.flatMap((bar, index) => bar.segments.map((part) => ({ ...bar, ...part, index })));
  const seams = parts.filter(({ segments, series }) => series !== segments[0]?.series)
    .map(({ x, width, y, height }) => `M${x} ${rounded(y + height)}h${width}`);
  const shape = (at: number) =>
    parts.filter((part) => part.series === at && part.index !== current)
      .map(({ x, y, width, height }) => `M${x} ${y}h${width}v${height}h-${width}z`).join("");
  return (
    <>
      {open?.segments.map(({ series: at, y, height }) => (
        <rect
          class={`part series-${series[at]?.color}`}
          fill={`url(#so-far-${series[at]?.color})`}
          x={`${open.x}%`}
          y={`${y}%`}
          width={`${open.width}%`}
          height={`${height}%`}
        />
      ))}
      <svg width="100%" height="100%" viewBox="0 0 100 100" preserveAspectRatio="none">
        {series.map(({ color }, at) => <path class={`part series-${color}`} d={shape(at)} />)}
        <path class="seam" d={seams.join("")} />
        {before.length > 0 && (
          <path
            class="before"
            d={before.map(({ x, y }, at) => `${at === 0 ? "M" : "L"}${x} ${y}`).join("")}
          />
        )}
      </svg>
    </>
  );
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function Hatches({ colors }: { colors: readonly SeriesColor[] }) {
  return (
    <defs>
      {[...new Set(colors)].map((color) => (
        <pattern
          id={`so-far-${color}`}
          class={`series-${color}`}
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect class="hatch-ground" width="6" height="6" />
          <path class="hatch" d="M0 0v6" />
        </pattern>
      ))}
    </defs>
  );
}

/** Replaces the label below the last bar if it isn't complete. Weeks and months say so above the bar. */
const nowNames: Readonly<Partial<Record<WindowUnit, string>>> = { hour: "Now", day: "Today" };

function SoFar({ bar, nowName }: { bar: BarProps | undefined; nowName: string | undefined }) {
  if (bar === undefined) return null;
  const { x, width, segments } = bar;
  if (nowName !== undefined) {
    return <text class="now" x={`${x + width / 2}%`} y="100%" dy="19" text-anchor="middle">{nowName}</text>;
  }
  const isRight = x > 85;
  return (
    <text
      class="far"
      x={`${isRight ? x + width : x}%`}
      y={`${segments.at(-1)?.y ?? 100}%`}
      dy="-7"
      text-anchor={isRight ? "end" : "start"}
    >
      so far
    </text>
  );
}

/** Shows the colors of several series. */
function Legend({ series }: { series: readonly ChartSeries[] }) {
  if (series.length < 2) return null;
  return (
    <ul class="legend">
      {series.map(({ name, color, href }) => (
        <li>
          <span class={`swatch series-${color}`} aria-hidden="true"></span>
          <SeriesName name={name} href={href} />
        </li>
      ))}
    </ul>
  );
}

function SeriesName({ name, href }: { name: string; href: string | undefined }) {
  return href === undefined ? <bdi>{name}</bdi> : (
    <a href={href}>
      <bdi>{name}</bdi>
    </a>
  );
}

/** Lists the chart's windows, newest first. */
function ChartTable({ windows, series, by, measure, current, numbersHref }: ChartProps) {
  if (numbersHref !== undefined) {
    return (
      <a class="numbers" href={numbersHref}>
        <Icon name="chevron" />
        Show as table
      </a>
    );
  }
  const isStacked = series.length > 1;
  const past = current === null ? windows : windows.slice(0, current.position + 1);
  return (
    <details class="numbers" open={windows.length > wideBarsMax}>
      <summary>
        <Icon name="chevron" />
        Show as table
      </summary>
      <div class="scroll" tabindex={0} role="region" aria-label="Numbers of the chart">
        <table>
          <thead>
            <tr>
              <th scope="col">{unitNames[by]}</th>
              {isStacked
                ? series.map(({ name }) => (
                  <th scope="col" class="num">
                    <bdi>{name}</bdi>
                  </th>
                ))
                : null}
              <th scope="col" class="num">{isStacked ? "Total" : measure.unit ?? measure.name}</th>
            </tr>
          </thead>
          <tbody>
            {past.toReversed().map(({ name, sums, total }, index) => (
              <tr>
                <th scope="row">{index === 0 && current !== null ? `${name}, so far` : name}</th>
                {[...(isStacked ? sums : []), total].map((value) => (
                  <td class="num">
                    <Quantity value={value} measure={measure} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
