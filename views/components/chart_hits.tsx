// The parts of a chart that react: one for each bar, with a box of its numbers on hover, focus and tap.
import { percentChange } from "../../domain/meter/usage_report.ts";
import type { WindowUnit } from "../../domain/meter/usage_window.ts";
import { percentText } from "../../domain/number_text.ts";
import { measureNoun, perWindow, quantityText, quantityWords } from "../text/quantity.ts";
import type { ChartProps, ChartRow } from "./chart_props.ts";

/** Compares with the same weekday, or the same hour of the day before. */
const comparedTo: Readonly<Record<WindowUnit, number>> = {
  "hour": 24,
  "4h": 6,
  "6h": 4,
  "day": 7,
  "week": 1,
  "month": 1,
};
/** With so few bars there is no room next to them. */
const fewBars = 5;

/**
 * Lies over the bars. Each is a link, if its window has a page. With scripts, the arrow keys move between them.
 *
 * @param props `isDense`: the box of each bar is one text, so that many bars are no burden.
 */
export function ChartHits({ isDense, ...props }: ChartProps & { isDense: boolean }) {
  const { windows, current, measure, by } = props;
  const last = current?.position ?? windows.length - 1;
  return (
    <div
      class={windows.length <= fewBars ? "hits few" : "hits"}
      role="group"
      aria-label={perWindow(measure, by)}
    >
      {windows.map((row, index) => {
        if (index > last) return <span></span>;
        const side = index < windows.length / 2 ? "hit" : "hit left";
        const tip = isDense
          ? <span class="tip" aria-hidden="true">{textOf(props, index)}</span>
          : <Tip {...props} row={row} index={index} />;
        return row.href === undefined
          ? <div class={side} tabindex={0} role="img" aria-label={labelOf(props, index)}>{tip}</div>
          : <a class={side} href={row.href} aria-label={labelOf(props, index)}>{tip}</a>;
      })}
    </div>
  );
}

function labelOf({ windows, measure, current }: ChartProps, index: number): string {
  const { name = "", total = "0" } = windows[index] ?? {};
  const noun = quantityText(total, measure).unit === null ? ` ${measureNoun(measure)}` : "";
  return `${name}: ${quantityWords(total, measure)}${noun}${index === current?.position ? " so far" : ""}`;
}

/** The highest row is the highest part of the bar. */
function Tip(props: ChartProps & { row: ChartRow; index: number }) {
  const { row, index, series, measure } = props;
  const note = noteOf(props, index);
  const before = props.before?.rows[index];
  return (
    <div class="tip" aria-hidden="true">
      <p class="tip-head">
        <span>{row.name}</span>
        <span class="muted">
          {quantityText(row.total, measure).unit === null ? measureNoun(measure) : ""}
        </span>
      </p>
      <dl>
        {series.length < 2 ? null : series.map(({ name, color }, at) => (
          <>
            <dt class={`series-${color}`}>{name}</dt>
            <dd>{quantityWords(row.sums[at] ?? "0", measure)}</dd>
          </>
        )).toReversed()}
        <dt class="all">Total</dt>
        <dd class="all">{quantityWords(row.total, measure)}</dd>
        {before && (
          <>
            <dt class="before">{before.name}</dt>
            <dd>{quantityWords(before.total, measure)}</dd>
          </>
        )}
      </dl>
      {note === null ? null : <p class="after">{note}</p>}
    </div>
  );
}

/** Returns the numbers of a bar as lines of text. */
function textOf({ windows, series, measure, before }: ChartProps, index: number): string {
  const { name = "", sums = [], total = "0" } = windows[index] ?? {};
  const earlier = before?.rows[index];
  const line = (name: string, value: string) => `${name}: ${quantityWords(value, measure)}`;
  return [
    name,
    ...series.length < 2 ? [] : series.map(({ name }, at) => line(name, sums[at] ?? "0")).toReversed(),
    line("Total", total),
    ...earlier ? [line(earlier.name, earlier.total)] : [],
  ].join("\n");
}

/** Returns the time that the window lasted so far, or the change since the one to compare with, if the chart has it. */
function noteOf({ windows, by, current }: ChartProps, index: number): string | null {
  if (current !== null && index === current.position) return `${current.elapsed} so far`;
  const [now, before] = [windows[index], windows[index - comparedTo[by]]];
  if (now === undefined || before === undefined) return null;
  const micros = ({ total }: ChartRow) => BigInt(Math.round(Number(total) * 1e6));
  const percent = percentChange(micros(now), micros(before));
  if (percent === null) return null;
  return percent === 0
    ? `Same as ${before.name}`
    : `${percentText(percent)} ${percent > 0 ? "more" : "less"} than ${before.name}`;
}
