// What a statement says first: its status, the days that it is about, and its figures.
import type { Child } from "hono/jsx";
import { forecastAmount } from "../../domain/billing/forecast.ts";
import type { AmountParts, Statement } from "../../domain/billing/statement.ts";
import { Badge } from "../components/badge.tsx";
import { ShortChange } from "../components/change.tsx";
import { Notice } from "../components/notice.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { amountText } from "../text/amount.ts";
import { type Before, isRunning, periodWords, shortPeriod, versus } from "./statement_text.ts";
import { daysWords, zoneWords } from "../text/zone.ts";
import { percentChange } from "./statement_lines.tsx";

export function StatementBadge({ status }: Pick<Statement, "status">) {
  return status === "closed"
    ? <Badge tone="on">Closed</Badge>
    : <Badge tone="soon">{status === "open" ? "Open" : "Closing"}</Badge>;
}

/** The line below the title of a statement's page. */
export function StatementDays({ statement, now }: { statement: Statement; now: number }) {
  const { start, end, timezone, closedAt, status } = statement;
  const days = daysWords({ start: Date.parse(start), end: Date.parse(end) }, timezone);
  return (
    <>
      <StatementBadge status={status} />
      {` ${days}, in ${zoneWords(timezone)}`}
      {closedAt !== null
        ? (
          <>
            {" · closed "}
            <DayTime at={closedAt} now={now} />
          </>
        )
        : status === "open" && !isRunning(statement, now)
        ? " · ended, not closed yet"
        : ""}
    </>
  );
}

/** Usage to compare a month with: its amount in the currency of the month. */
export interface AmountBefore extends Before {
  readonly amount: string | null;
  /** The amount of the whole month, if it is closed. */
  readonly wholeAmount: string | null;
}

/** The change of an estimated amount since the month before or, without adjustments, since as many of its days. */
export function AmountChange({ amount, parts, statement, before }: {
  amount: string;
  parts: AmountParts | null;
  statement: Statement;
  before: AmountBefore | null;
}) {
  const compared = before?.days ? parts?.usage ?? "0" : amount;
  return before?.amount
    ? (
      <>
        <ShortChange percent={percentChange(compared, before.amount)} />
        {` ${versus(before, statement.timezone)}`}
      </>
    )
    : <>Adjustments included</>;
}

/** Returns the forecast of a running month, if there is one. */
export function paceFigures(
  { statement, amount, parts, before, now }: {
    statement: Statement;
    amount: string | null;
    parts: AmountParts | null;
    before: AmountBefore | null;
    now: number;
  },
): StatementFigure[] {
  const { currency } = statement;
  const forecast = forecastAmount({ amount, parts }, statement, now);
  if (forecast === null || currency === null) return [];
  const { text } = amountText(String(forecast), currency);
  return [{
    label: "On pace for",
    value: isWhole(forecast) ? text.replace(/[.,]0+(?=\D*$)/, "") : text,
    note: before?.wholeAmount
      ? (
        <>
          <ShortChange percent={percentChange(String(forecast), before.wholeAmount)} />
          {` vs ${shortPeriod(before.period)}, at the current rate`}
        </>
      )
      : <>At the current rate</>,
  }];
}

/** True for an amount whose decimals say nothing. */
const isWhole = (amount: number) => Math.abs(amount) >= 100;

export interface StatementFigure {
  readonly label: string;
  readonly value: Child;
  readonly note: Child;
}

export function StatementFigures({ label, figures }: { label: string; figures: readonly StatementFigure[] }) {
  return (
    <section class="card" aria-label={label}>
      <dl class="key-facts">
        {figures.map(({ label, value, note }) => (
          <div>
            <dt>{label}</dt>
            <dd class="big">{value}</dd>
            <dd class="muted tiny">{note}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** Explains why there are no lines. @param props `isBusy`: they could not be read in time. */
export function StatementNotice(
  { statement: { status, period }, isBusy }: { statement: Statement; isBusy: boolean },
) {
  if (status === "closing") {
    return (
      <Notice tone="done" text={`${periodWords(period)} is being closed. Reload the page in a minute.`} />
    );
  }
  return isBusy
    ? (
      <Notice
        tone="error"
        text="The numbers are still being added up. Reload the page in a minute, or download the CSV."
      />
    )
    : null;
}
