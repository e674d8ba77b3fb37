// An organization's billing: its plan and limits, the open month so far, and closed months; and the page of one month.
import { openStatement, type OrganizationStatement } from "../../domain/billing/statement.ts";
import { billedMetric } from "../../domain/meter/catalogue.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { presentation } from "../../domain/presentation.ts";
import { getStatement, listOrganizationStatements, listStatements } from "../../services/billing/mod.ts";
import { listGrants, readLimits, readUsage } from "../../services/meter/mod.ts";
import { readPlan } from "../../services/people/mod.ts";
import { EstimateNote, organizationStatementPage } from "../../views/billing/statement.tsx";
import {
  AmountChange,
  paceFigures,
  type StatementFigure,
  StatementFigures,
} from "../../views/billing/statement_facts.tsx";
import { amountColumn, LineQuantity, UsageLineTable } from "../../views/billing/statement_lines.tsx";
import {
  billingCsvHref,
  billingHref,
  periodWords,
  statementTitle,
} from "../../views/billing/statement_text.ts";
import { Amount } from "../../views/components/amount.tsx";
import { ButtonLink } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { EmptyState } from "../../views/components/empty_state.tsx";
import { PlanIncludes } from "../../views/components/feature_list.tsx";
import { type ItemColumn, ItemTable } from "../../views/components/item_table.tsx";
import { LimitMeters, nearShare, usedShare } from "../../views/components/limit_meters.tsx";
import { listHref } from "../../views/components/list_filters.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { PageLinks } from "../../views/components/page_links.tsx";
import { PlanName } from "../../views/components/plan_link.tsx";
import { LinkedName } from "../../views/components/table.tsx";
import { type PortalFrame, PortalPage } from "../../views/layout.tsx";
import { grantsShownMax } from "../../views/meter/grants.tsx";
import { GrantsCard } from "../../views/meter/mod.ts";
import { shortDate } from "../../views/text/time.ts";
import { onClock, zoneWords } from "../../views/text/zone.ts";
import type { App, AppContext } from "../env.ts";
import type { Viewer } from "../portal/form.ts";
import { inTime } from "../portal/in_time.ts";
import { nearestFirst } from "../meter/usage_pages.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { cursorOf, readShownLines } from "./statement_lines.ts";
import { organizationPages } from "../portal/viewer.ts";

const statementsShownMax = 12;
const openLinesShownMax = 24;

export function billingPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const { get } = organizationPages(app, parts);

  get("/billing", async (c, viewer) => await sendPage(c, billingPage(await readBilling(c, parts, viewer))));

  get("/billing/:period", async (c, { access, frame }) => {
    const id = c.req.param("period") ?? "";
    const statement = await getStatement(services, id);
    const { nextCursor, ...lines } = await readShownLines(parts, access, { statement, cursor: cursorOf(c) });
    return await sendPage(
      c,
      organizationStatementPage({
        frame,
        place: "billing",
        back: { href: billingHref(frame), label: frame.viewed === null ? "Billing" : "Statements" },
        statement,
        organization: null,
        ...lines,
        csvHref: billingCsvHref(frame, statement),
        nextHref: nextCursor && listHref(billingHref(frame, id), { cursor: nextCursor }),
      }),
    );
  });
}

async function readBilling(c: AppContext, parts: PortalParts, { access, frame }: Viewer) {
  const { services } = parts;
  // The running month, and before it one that has ended but isn't closed.
  const { open: [open = await getStatement(services, openStatement), ...ended] } = await listStatements(
    services,
    { limit: 1 },
  );
  const query = { limit: statementsShownMax, cursor: cursorOf(c) };
  const [plan, limits, catalogue, lines, list, { grants }] = await Promise.all([
    readPlan(services, access),
    inTime((signal) => readLimits(services, access, { signal })),
    inTime((signal) => readUsage(services, access, { job: "findCatalogue", query: {}, signal })),
    readShownLines(parts, access, { statement: open, limit: openLinesShownMax }),
    inTime((signal) => listOrganizationStatements(services, access, { ...query, signal })),
    listGrants(services, access, { limit: grantsShownMax }),
  ]);
  return {
    frame,
    ...plan,
    /** Those with the largest part used come first. */
    limits: limits && nearestFirst(limits),
    grants,
    catalogue: catalogue ?? undefined,
    open,
    /** Months that have ended, but are not closed yet. */
    ended: query.cursor ? [] : ended,
    ...lines,
    statements: list && list.statements,
    olderHref: list?.nextCursor ? listHref(billingHref(frame), { cursor: list.nextCursor }) : null,
  };
}

/** Null stands for what is not available. */
type Billing = Awaited<ReturnType<typeof readBilling>>;

const unavailable = "Not available right now. Try again in a minute.";

function billingPage(props: Billing) {
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
      <PlanIncludes {...props.plan} />
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

function figuresOf(props: Billing): StatementFigure[] {
  const { frame, plan, open, limits, statements, shown, before } = props;
  const pace = shown === null ? [] : paceFigures({ ...shown, before, now: frame.now });
  return [
    { label: "Plan", value: <bdi>{plan.name}</bdi>, note: limits === null ? "" : limitsNote(limits) },
    openFigure(props),
    ...pace,
    lastFigure(frame, statements?.[0]),
    ...pace.length > 0 ? [] : [{
      label: "Month ends",
      value: shortDate(onClock(Date.parse(open.end), open.timezone), onClock(frame.now, open.timezone)),
      note: `00:00 in ${zoneWords(open.timezone)}`,
    }],
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

function openFigure({ frame, open, shown, before }: Billing): StatementFigure {
  const label = statementTitle(open, frame.now);
  if (shown === null) return { label, value: "–", note: "Not available right now" };
  if (open.currency !== null && shown.amount !== null) {
    return {
      label: `${label}, estimated`,
      value: <Amount value={shown.amount} currency={open.currency} />,
      note: <AmountChange {...shown} amount={shown.amount} before={before} />,
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
  if (last === undefined) return { label: "Last statement", value: "–", note: "No closed months yet" };
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

function OpenMonth({ frame, open, shown, before, nextCursor }: Billing) {
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
        : <UsageLineTable lines={usage} statement={open} before={before} isPart={nextCursor !== null} />}
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

function Limits({ frame, plan, limits, catalogue, timezone, open }: Billing) {
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

function Statements({ frame, ended, statements, olderHref }: Billing) {
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
  const amount = amountColumn(({ amount, statement: { currency } }: StatementItem) => ({ amount, currency }));
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
