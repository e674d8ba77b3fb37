// The console's pages of statements: the list, one statement with its lines, and the page that closes a month.
import { groupDigits } from "../../domain/number_text.ts";
import type {
  NextStatement,
  Statement,
  StatementLine,
  StatementTotal,
} from "../../domain/operator/statement.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { Facts } from "../components/facts.tsx";
import { TextField } from "../components/field.tsx";
import type { FormErrors } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { DayTime, MomentTime } from "../components/relative_time.tsx";
import { Cell, Name, Row, Table } from "../components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { monthWords } from "../text/time.ts";
import { organizationHref } from "./links.ts";
import { listHref } from "./list_filters.tsx";

const list = "/operator/statements";
const place = "operator/statements";
const closeHref = `${list}/close`;

/** @returns The address of a statement, or of its lines for one organization. */
export function statementHref(id: string, organizationId?: string): string {
  return listHref(`${list}/${encodeURIComponent(id)}`, { organizationId });
}

/** @returns The address of the same as CSV. */
export function statementCsvHref(id: string, organizationId?: string): string {
  return listHref(`/api${list}/${encodeURIComponent(id)}.csv`, { organizationId });
}

/** @returns A month such as “October 2026”. */
export function periodWords(period: string): string {
  return monthWords(Date.parse(`${period}-01`));
}

/** What the list shows. */
export interface StatementsPageProps {
  readonly frame: PortalFrame;
  readonly statements: readonly Statement[];
  readonly next: NextStatement;
  readonly nextHref: string | null;
}

/** @returns The list of statements. */
export function statementsPage({ frame, statements, next, nextHref }: StatementsPageProps): Page {
  const month = periodWords(next.period);
  const close = next.isEnded && <ButtonLink tone="primary" href={closeHref}>Close {month}</ButtonLink>;
  return (
    <PortalPage title="Statements" frame={frame} place={place}>
      <PageHead
        title="Statements"
        text="A statement closes a month for all organizations. It never changes, so you can bill by it."
      >
        {statements.length > 0 && close}
      </PageHead>
      <Card title="Newest first" flush>
        {statements.length === 0
          ? (
            <EmptyState title="No statements yet" text={`Close ${month} to get the first one.`}>
              {close}
            </EmptyState>
          )
          : <StatementTable statements={statements} now={frame.now} />}
      </Card>
      <PageLinks links={[{ href: nextHref, label: "Older statements" }]} />
    </PortalPage>
  );
}

function StatementTable({ statements, now }: { statements: readonly Statement[]; now: number }) {
  return (
    <Table label="Statements" columns={["Month", "Status", "Time zone", "Closed"]}>
      {statements.map(({ id, period, status, timezone, closedAt }) => (
        <Row>
          <Cell
            place="title"
            value={
              <a href={`${list}/${id}`}>
                <Name text={periodWords(period)} />
              </a>
            }
          />
          <Cell place="state" value={<StatusBadge status={status} />} />
          <Cell label="Time zone" value={<span>{timezone}</span>} />
          <Cell label="Closed" value={closedAt === null ? "Not yet" : <DayTime at={closedAt} now={now} />} />
        </Row>
      ))}
    </Table>
  );
}

function StatusBadge({ status }: Pick<Statement, "status">) {
  return status === "closed" ? <Badge tone="on">Closed</Badge> : <Badge tone="soon">Closing</Badge>;
}

/** What the page of a statement shows. */
export interface StatementPageProps {
  readonly frame: PortalFrame;
  readonly statement: Statement;
  readonly totals: readonly StatementTotal[] | null;
  readonly lines: readonly StatementLine[];
  /** The organization whose lines are shown; null for those of all. */
  readonly organization: { readonly id: string; readonly name: string } | null;
  readonly nextHref: string | null;
}

/** @returns The page of a statement. */
export function statementPage(props: StatementPageProps): Page {
  const { frame, statement, totals, lines, organization, nextHref } = props;
  const { id, period, start, end, timezone, status } = statement;
  const isClosed = status === "closed";
  const moment = (at: string) => <MomentTime at={at} now={frame.now} timezone={timezone} />;
  return (
    <PortalPage title={`Statement of ${periodWords(period)}`} frame={frame} place={place}>
      <PageHead back={{ href: list, label: "Statements" }} title={`Statement of ${periodWords(period)}`}>
        {isClosed && (
          <ButtonLink href={statementCsvHref(id, organization?.id)} isFile>Download CSV</ButtonLink>
        )}
      </PageHead>
      {!isClosed && (
        <Notice tone="done" text="This month is being closed. Reload the page to see its lines." />
      )}
      <Card title="Details">
        <Facts
          facts={[
            { label: "Status", value: <StatusBadge status={status} /> },
            { label: "From", value: moment(start) },
            { label: "To", value: moment(end) },
            { label: "Time zone", value: timezone },
            ...(organization === null ? [] : [{
              label: "Organization",
              value: (
                <span>
                  <a href={organizationHref(organization.id)}>
                    <bdi>{organization.name}</bdi>
                  </a>
                  {" · "}
                  <a href={statementHref(id)}>Show all</a>
                </span>
              ),
            }]),
          ]}
        />
      </Card>
      {totals !== null && totals.length > 0 && (
        <Card title="By product" flush>
          <TotalTable totals={totals} />
        </Card>
      )}
      {isClosed && (
        <Card title="Lines" flush>
          {lines.length === 0
            ? <EmptyState title="No lines" text="Nothing was recorded for this month." />
            : <LineTable lines={lines} />}
        </Card>
      )}
      <PageLinks links={[{ href: nextHref, label: "More lines" }]} />
    </PortalPage>
  );
}

const numbers = [{ title: "Quantity", isNumber: true }, { title: "Records", isNumber: true }];

type Named = Pick<StatementTotal, "productSlug" | "productName" | "metric" | "metricName">;

function whatOf({ productSlug, productName, metric, metricName }: Named): string {
  return `${productName ?? productSlug} · ${metricName ?? metric}`;
}

function quantityOf({ quantity, unit }: Pick<StatementTotal, "quantity" | "unit">): string {
  return unit === null ? groupDigits(quantity) : `${groupDigits(quantity)} ${unit}`;
}

function TotalTable({ totals }: { totals: readonly StatementTotal[] }) {
  return (
    <Table label="Totals" columns={["Product", ...numbers, { title: "Lines", isNumber: true }]}>
      {totals.map((total) => (
        <Row>
          <Cell place="title" value={<Name text={whatOf(total)} />} />
          <Cell label="Quantity" isNumber value={quantityOf(total)} />
          <Cell label="Records" isNumber value={groupDigits(total.records)} />
          <Cell label="Lines" isNumber value={groupDigits(total.lines)} />
        </Row>
      ))}
    </Table>
  );
}

function LineTable({ lines }: { lines: readonly StatementLine[] }) {
  return (
    <Table label="Lines" columns={["Organization", "Product", "Adjustment of", ...numbers]}>
      {lines.map((line) => (
        <Row>
          <Cell place="title" value={<Name text={line.organizationName} />} />
          <Cell label="Product" value={<span>{whatOf(line)}</span>} />
          <Cell
            label="Adjustment of"
            value={line.adjustmentOf === null ? "–" : periodWords(line.adjustmentOf)}
          />
          <Cell label="Quantity" isNumber value={quantityOf(line)} />
          <Cell label="Records" isNumber value={groupDigits(line.records)} />
        </Row>
      ))}
    </Table>
  );
}

/** What the page that closes a month shows. */
export interface CloseStatementProps extends FormErrors {
  readonly frame: PortalFrame;
  readonly next: NextStatement;
  readonly timezone: string;
  /** Whether no month was closed yet, so that any can be the first. */
  readonly isFirst: boolean;
  /** The month as typed. */
  readonly period: string;
}

/** @returns The page that asks whether to close a month. */
export function closeStatementPage(props: CloseStatementProps): Page {
  const { frame, next, timezone, isFirst, period, fields, message } = props;
  const month = periodWords(next.period);
  const moment = (at: string) => <MomentTime at={at} now={frame.now} timezone={timezone} />;
  return (
    <ConfirmPage
      frame={frame}
      place={place}
      title="Close month"
      heading={isFirst ? "Close the first month" : `Close ${month}?`}
      text={`This closes the month for all organizations. It can't be undone: what is recorded or voided for it later becomes an adjustment in the next statement.${
        isFirst ? " Months before the first one are never billed." : ""
      }`}
      facts={isFirst ? [{ label: "Time zone", value: timezone }] : [
        { label: "From", value: moment(next.start) },
        { label: "To", value: moment(next.end) },
        { label: "Time zone", value: timezone },
      ]}
      action={closeHref}
      hidden={isFirst ? undefined : { period: next.period }}
      error={message}
      submit={isFirst ? "Close month" : `Close ${month}`}
      back={{ href: list, label: "Statements" }}
    >
      {isFirst && (
        <TextField
          label="Month"
          name="period"
          value={period}
          hint="Year and month, such as 2026-10."
          error={fields["period"]}
          autocomplete="off"
          required
          maxlength={7}
        />
      )}
    </ConfirmPage>
  );
}
