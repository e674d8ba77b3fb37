// An organization's billing: its plan and limits, the open month so far, and closed months.
import { billedMetric, type Catalogue } from "../../domain/meter/catalogue.ts";
import type { UsageGrant } from "../../domain/meter/usage_grant.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { presentation } from "../../domain/presentation.ts";
import type { OrganizationPlan } from "../../domain/billing/plan.ts";
import type { OrganizationStatement, Statement } from "../../domain/billing/statement.ts";
import { Amount } from "../components/amount.tsx";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { PlanIncludes } from "../components/feature_list.tsx";
import { type ItemColumn, ItemTable } from "../components/item_table.tsx";
import { LimitMeters, nearShare, usedShare } from "../components/limit_meters.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { PlanName } from "../components/plan_link.tsx";
import { LinkedName } from "../components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { GrantsCard } from "../meter/mod.ts";
import { billingCsvHref, billingHref, periodWords, statementTitle } from "./statement_text.ts";
import { shortDate } from "../text/time.ts";
import { onClock, zoneWords } from "../text/zone.ts";
import { EstimateNote, type LinesBefore, type OrganizationLines } from "./statement.tsx";
import { AmountChange, type StatementFigure, StatementFigures } from "./statement_facts.tsx";
import { LineQuantity, UsageLineTable } from "./statement_lines.tsx";

interface BillingPageProps extends OrganizationPlan {
  readonly frame: PortalFrame;
  /** Limits with the largest part used first; null when they are not available. */
  readonly limits: readonly LimitStanding[] | null;
  /** The latest grants. */
  readonly grants: readonly UsageGrant[];
  readonly catalogue: Catalogue | undefined;
  /** The statement of the current month. */
  readonly open: Statement;
  /** Months that have ended, but are not closed yet. */
  readonly ended: readonly Statement[];
  /** Some of its lines; null when they are not available. */
  readonly shown: OrganizationLines | null;
  readonly before: LinesBefore | null;
  readonly nextCursor: string | null;
  /** Closed months, newest first; null when they are not available. */
  readonly statements: readonly OrganizationStatement[] | null;
  readonly olderHref: string | null;
}

const unavailable = "Not available right now. Try again in a minute.";

export function billingPage(props: BillingPageProps): Page {
  const { frame, open, shown, statements } = props;
  const hasAmounts = [shown, ...statements ?? []].some((one) => one !== null && one.amount !== null);
  // The tab's name in the console.
  const title = frame.viewed === null ? "Billing" : "Statements";
  return (
    <PortalPage title={title} frame={frame} place="billing">
      <PageHead
        title={title}
        text={`${hasAmounts ? "Usage and estimated cost" : "Usage"} by month, in ${
          zoneWords(open.timezone)
        }.`}
      >
        {(shown === null || shown.lines.length > 0) && (
          <ButtonLink href={billingCsvHref(frame, open)} isFile>Download CSV</ButtonLink>
        )}
      </PageHead>
      <StatementFigures label="Summary" figures={figuresOf(props)} />
      <PlanIncludes features={props.plan.features} />
      <div class="columns">
        <OpenMonth {...props} />
        <div class="stacked">
          {props.limits?.length !== 0 && <Limits {...props} />}
          <Statements {...props} />
        </div>
      </div>
      <GrantsCard grants={props.grants} catalogue={props.catalogue} now={frame.now} />
      {hasAmounts && <EstimateNote />}
    </PortalPage>
  );
}

function figuresOf(props: BillingPageProps): StatementFigure[] {
  const { frame, plan, open, limits, statements } = props;
  return [
    { label: "Plan", value: <bdi>{plan.name}</bdi>, note: limits === null ? "" : limitsNote(limits) },
    openFigure(props),
    lastFigure(frame, statements?.[0]),
    {
      label: "Month ends",
      value: shortDate(onClock(Date.parse(open.end), open.timezone), onClock(frame.now, open.timezone)),
      note: `00:00 in ${zoneWords(open.timezone)}`,
    },
  ];
}

function limitsNote(limits: readonly LimitStanding[]): string {
  const from = (share: number) => limits.filter((limit) => usedShare(limit) >= share).length;
  if (limits.length === 0) return "No usage limits";
  if (from(1) > 0) return `${countOf(from(1), "limit")} reached`;
  return from(nearShare) > 0
    ? `${countOf(from(nearShare), "limit")} nearly used up`
    : countOf(limits.length, "limit");
}

function openFigure({ frame, open, shown, before }: BillingPageProps): StatementFigure {
  const label = statementTitle(open, frame.now);
  if (shown === null) return { label, value: "–", note: "Not available right now" };
  if (open.currency !== null && shown.amount !== null) {
    return {
      label: `${label}, estimated`,
      value: <Amount value={shown.amount} currency={open.currency} />,
      note: <AmountChange amount={shown.amount} statement={open} before={before} now={frame.now} />,
    };
  }
  const [main] = shown.totals ?? [];
  return {
    label,
    value: main ? <LineQuantity line={main} /> : "0",
    note: main
      ? <bdi>{`${main.productName ?? main.productSlug} · ${billedMetric(main).name}`}</bdi>
      : "No usage yet",
  };
}

function lastFigure(frame: PortalFrame, last: OrganizationStatement | undefined): StatementFigure {
  if (last === undefined) return { label: "Last statement", value: "–", note: "No month was closed yet" };
  const { statement: { period, status, currency }, amount } = last;
  const link = <a href={billingHref(frame, period)}>View statement</a>;
  return amount !== null && currency !== null
    ? {
      label: `${periodWords(period)}, estimated`,
      value: <Amount value={amount} currency={currency} />,
      note: link,
    }
    : { label: periodWords(period), value: status === "closed" ? "Closed" : "Being closed", note: link };
}

function OpenMonth({ frame, open, shown, before, nextCursor }: BillingPageProps) {
  const title = statementTitle(open, frame.now);
  const usage = (shown?.lines ?? []).filter(({ adjustmentOf }) => adjustmentOf === null);
  const adjustments = (shown?.totals ?? []).reduce((sum, { lines }) => sum + lines, 0) - usage.length;
  return (
    <Card
      title={title}
      aside={<a class="small" href={billingHref(frame, open.period)}>View details</a>}
      flush
    >
      {shown === null
        ? (
          <EmptyState
            title="Not available right now"
            text="The numbers are still being added up. Reload the page in a minute."
          />
        )
        : usage.length === 0
        ? <EmptyState title="No usage yet" text="Usage appears here as soon as it is recorded." />
        : <UsageLineTable lines={usage} statement={open} before={before} now={frame.now} />}
      {shown !== null && (nextCursor !== null || adjustments > 0) && (
        <footer class="list-foot">
          <span>
            {nextCursor === null ? countOf(adjustments, "adjustment") : `The first ${usage.length} lines`}
          </span>
          <a href={billingHref(frame, open.period)}>Show all</a>
        </footer>
      )}
    </Card>
  );
}

function Limits({ frame, plan, limits, catalogue, timezone, open }: BillingPageProps) {
  return (
    <Card
      title="Limits"
      aside={
        <span class="muted small">
          <PlanName name={plan.name} />
        </span>
      }
    >
      {limits === null ? <p class="muted small">{unavailable}</p> : (
        <>
          <LimitMeters limits={limits} now={frame.now} catalogue={catalogue} />
          {open.timezone !== timezone && presentation().timezone === timezone && (
            <p class="muted small">{`Limits are counted in ${zoneWords(timezone)}.`}</p>
          )}
        </>
      )}
    </Card>
  );
}

function Statements({ frame, ended, statements, olderHref }: BillingPageProps) {
  const rows: StatementItem[] = [
    ...ended.map((statement) => ({ statement, lines: null, adjustments: 0, amount: null })),
    ...(statements ?? []),
  ];
  return (
    <Card title="Statements" aside={<span class="muted small">Closed months never change</span>} flush>
      {rows.length > 0
        ? <StatementTable frame={frame} rows={rows} />
        : statements === null
        ? <EmptyState title="Not available right now" text="Reload the page in a minute." />
        : (
          <EmptyState
            title="No statements yet"
            text="A month appears here when it is closed. Then it never changes."
          />
        )}
      {olderHref !== null && (
        <footer class="list-foot">
          <PageLinks label="Pages of statements" links={[{ href: olderHref, label: "Older statements" }]} />
        </footer>
      )}
    </Card>
  );
}

/** `lines`: null for a month that isn't closed. */
type StatementItem = Pick<OrganizationStatement, "statement" | "adjustments" | "amount"> & {
  readonly lines: number | null;
};

function StatementTable({ frame, rows }: { frame: PortalFrame; rows: readonly StatementItem[] }) {
  const amount: ItemColumn<StatementItem> = {
    title: "Estimated",
    isNumber: true,
    cell: ({ amount, statement: { currency } }) =>
      amount === null || currency === null ? "–" : <Amount value={amount} currency={currency} />,
  };
  const lines: ItemColumn<StatementItem> = {
    title: "Lines",
    isNumber: true,
    cell: ({ lines, statement }) =>
      lines === null || statement.status === "closing" ? "–" : groupDigits(lines),
  };
  return (
    <ItemTable
      label="Statements"
      items={rows}
      columns={[
        {
          title: "Month",
          in: "title",
          cell: (row) => (
            <LinkedName
              href={billingHref(frame, row.statement.period)}
              name={periodWords(row.statement.period)}
              note={rowNote(row)}
            />
          ),
        },
        rows.some(({ amount }) => amount !== null) ? amount : lines,
      ]}
      actions={({ statement }) =>
        statement.status === "closing" ? [] : [{
          href: billingCsvHref(frame, statement),
          label: "CSV",
          about: periodWords(statement.period),
          isFile: true,
        }]}
      isSmall
    />
  );
}

function rowNote({ statement: { status }, adjustments }: StatementItem): string {
  if (status === "open") return "Ended, not closed yet";
  if (status === "closing") return "Being closed";
  return adjustments === 0 ? "" : `With ${countOf(adjustments, "adjustment")} of earlier months`;
}
