// What a statement says first: its status, the days that it is about, and its figures.
import type { Child } from "hono/jsx";
import type { Statement } from "../../domain/billing/statement.ts";
import { Badge } from "../components/badge.tsx";
import { ShortChange } from "../components/change.tsx";
import { Notice } from "../components/notice.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { isRunning, periodWords } from "./statement_text.ts";
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

/** The change of an estimated amount since the month before. */
export function AmountChange({ amount, statement, before, now }: {
  amount: string;
  statement: Statement;
  now: number;
  before:
    | { readonly period: string; readonly amount: string | null; readonly currency: string | null }
    | null;
}) {
  return before?.amount && before.currency === statement.currency
    ? (
      <>
        <ShortChange percent={percentChange(amount, before.amount)} />
        {` vs ${isRunning(statement, now) ? "all of " : ""}${periodWords(before.period)}`}
      </>
    )
    : <>Adjustments included</>;
}

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
