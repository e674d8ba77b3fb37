// The console's list of statements, with the months that are still open.
import { groupDigits } from "../../domain/number_text.ts";
import type { NextStatement, Statement } from "../../domain/billing/statement.ts";
import { StatementBadge } from "./statement_facts.tsx";
import { Amount } from "../components/amount.tsx";
import { type ItemColumn, ItemTable } from "../components/item_table.tsx";
import { ListPage } from "../components/list_page.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { LinkedName } from "../components/table.tsx";
import type { Page, Place, PortalFrame } from "../layout.tsx";
import { zoneWords } from "../text/zone.ts";
import { statementsHref } from "../components/links.ts";
import { isRunning, periodWords, statementCsvHref, statementHref } from "./statement_text.ts";

/** Sums of a statement over all organizations. */
export interface StatementSums {
  readonly counts: { readonly all: number; readonly adjusted: number };
  readonly amount: string | null;
}

export interface StatementRow {
  readonly statement: Statement;
  /** Null if they could not be read in time, and while the month is being closed. */
  readonly sums: StatementSums | null;
}

export function statementsPage({ frame, place, rows, next, olderHref }: {
  frame: PortalFrame;
  place: Place;
  rows: readonly StatementRow[];
  next: NextStatement;
  olderHref: string | null;
}): Page {
  const month = periodWords(next.period);
  return (
    <ListPage
      frame={frame}
      place={place}
      title="Statements"
      text="A statement closes a month for all organizations. It never changes, so you can bill by it."
      add={next.isEnded ? { href: `${statementsHref}/close`, label: `Close ${month}` } : null}
      card="Newest first"
      empty={null}
      links={[{ href: olderHref, label: "Older statements" }]}
    >
      <StatementTable rows={rows} now={frame.now} />
    </ListPage>
  );
}

function StatementTable({ rows, now }: { rows: readonly StatementRow[]; now: number }) {
  const hasAmounts = rows.some(({ sums }) => sums !== null && sums.amount !== null);
  const amount: ItemColumn<StatementRow> = {
    title: "Estimated",
    isNumber: true,
    cell: ({ statement: { currency }, sums }) =>
      sums === null || currency === null ? "–" : <Amount value={sums.amount} currency={currency} />,
  };
  return (
    <ItemTable
      label="Statements"
      items={rows}
      columns={[
        {
          title: "Month",
          in: "title",
          cell: ({ statement }) => (
            <LinkedName
              href={statementHref(statement.id)}
              name={periodWords(statement.period)}
              note={statement.status !== "open"
                ? ""
                : isRunning(statement, now)
                ? "So far"
                : "Ended, not closed yet"}
            />
          ),
        },
        {
          title: "Organizations",
          isNumber: true,
          isOptional: true,
          cell: ({ sums }) => sums === null ? "–" : groupDigits(sums.counts.all),
        },
        {
          title: "With adjustments",
          isNumber: true,
          isOptional: true,
          drop: 2,
          cell: ({ sums }) => sums === null ? "–" : groupDigits(sums.counts.adjusted),
        },
        ...(hasAmounts ? [amount] : []),
        {
          title: "Time zone",
          isOptional: true,
          drop: 1,
          cell: ({ statement }) => <span>{zoneWords(statement.timezone)}</span>,
        },
        {
          title: "Closed",
          isOptional: true,
          drop: 1,
          cell: ({ statement: { closedAt } }) =>
            closedAt === null ? "Not yet" : <DayTime at={closedAt} now={now} />,
        },
        { title: "Status", isOptional: true, cell: ({ statement }) => <StatementBadge {...statement} /> },
      ]}
      actions={({ statement: { id, period, status } }) =>
        status === "closing"
          ? []
          : [{ href: statementCsvHref(id), label: "CSV", about: periodWords(period), isFile: true }]}
      isSmall
    />
  );
}
