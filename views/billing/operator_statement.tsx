// The console's page of a statement, closed or open: totals by product, and one row for each organization.
import { billedMetric } from "../../domain/meter/catalogue.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import {
  openStatement,
  type Statement,
  type StatementOrganization,
  type StatementOrganizationSort,
  type StatementTotal,
} from "../../domain/billing/statement.ts";
import { EstimateNote } from "./statement.tsx";
import {
  StatementDays,
  type StatementFigure,
  StatementFigures,
  StatementNotice,
} from "./statement_facts.tsx";
import { percentChange, SignedQuantity, TotalTable } from "./statement_lines.tsx";
import { Amount } from "../components/amount.tsx";
import { Badge } from "../components/badge.tsx";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { ShortChange } from "../components/change.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { type ItemColumn, ItemTable } from "../components/item_table.tsx";
import { HintLine, ListCard, SearchBox, Tabs } from "../components/list_card.tsx";
import { Menu, MenuLinks } from "../components/menu.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { LinkedName } from "../components/table.tsx";
import { type Page, type Place, type PortalFrame, PortalPage } from "../layout.tsx";
import { statementsHref } from "../components/links.ts";
import { listHref } from "../components/list_filters.tsx";
import {
  isRunning,
  periodWords,
  shortPeriod,
  statementCsvHref,
  statementHref,
  statementTitle,
  versus,
} from "./statement_text.ts";

/** Choices in the address of the page. */
export interface StatementChoice {
  readonly search: string;
  readonly isAdjusted: boolean;
  /** Null for the default metric. */
  readonly metric: string | null;
  readonly sort: StatementOrganizationSort;
  readonly showsAllProducts: boolean;
}

/** The organizations of a statement that were found. */
export interface StatementOrganizations {
  readonly previous: Statement | null;
  readonly metric: string | null;
  readonly quantity: string;
  readonly counts: { readonly all: number; readonly adjusted: number };
  /** Totals of the whole statement, like `amount`. */
  readonly totals: readonly StatementTotal[];
  readonly amount: string | null;
  readonly organizations: readonly StatementOrganization[];
}

export interface StatementPageProps {
  readonly frame: PortalFrame;
  readonly place: Place;
  readonly statement: Statement;
  /** Null if they could not be read in time, and while the month is being closed. */
  readonly found: StatementOrganizations | null;
  readonly choice: StatementChoice;
  /** Why a choice in the address is ignored. */
  readonly fault: string | null;
  readonly isFirstPage: boolean;
  readonly nextCursor: string | null;
}

const totalsShownMax = 8;

export function statementPage(props: StatementPageProps): Page {
  const { frame, place, statement, found } = props;
  const { id, status, period } = statement;
  const canClose = id === openStatement && !isRunning(statement, frame.now);
  const title = statementTitle(statement, frame.now);
  return (
    <PortalPage title={title} frame={frame} place={place}>
      <PageHead
        back={{ href: statementsHref, label: "Statements" }}
        title={title}
        text={<StatementDays statement={statement} now={frame.now} />}
      >
        {status !== "closing" && <ButtonLink href={statementCsvHref(id)} isFile>Download CSV</ButtonLink>}
        {canClose && (
          <ButtonLink tone="primary" href={`${statementsHref}/close`}>
            {`Close ${periodWords(period)}`}
          </ButtonLink>
        )}
      </PageHead>
      <Notice tone="error" text={props.fault} />
      <StatementNotice statement={statement} isBusy={status !== "closing" && found === null} />
      {found && (
        <>
          <Totals {...props} found={found} />
          <Organizations {...props} found={found} />
          {found.amount !== null && <EstimateNote />}
        </>
      )}
    </PortalPage>
  );
}

function Totals(props: FoundProps) {
  const { statement, choice, found: { totals } } = props;
  if (totals.length === 0) return null;
  const shown = choice.showsAllProducts ? totals : totals.slice(0, totalsShownMax);
  return (
    <>
      <StatementFigures label="Summary" figures={figuresOf(props)} />
      <Card title="By product" flush>
        <TotalTable totals={shown} statement={statement} />
        {shown.length < totals.length && (
          <footer class="list-foot">
            <span>{`${shown.length} of ${totals.length}`}</span>
            <a href={hrefTo(props, { showsAllProducts: true })}>Show all</a>
          </footer>
        )}
      </Card>
    </>
  );
}

/** Returns the address of the page with other choices, of its first page unless a cursor is given. */
function hrefTo(
  { statement, choice }: Pick<StatementPageProps, "statement" | "choice">,
  other: Partial<StatementChoice> & { cursor?: string | null },
): string {
  const { search, isAdjusted, metric, sort, showsAllProducts } = { ...choice, ...other };
  return listHref(statementHref(statement.id), {
    search,
    show: isAdjusted ? "adjusted" : null,
    metric,
    sort: sort === "name" ? null : sort,
    products: showsAllProducts ? "all" : null,
    cursor: other.cursor,
  });
}

function figuresOf(
  { statement: { currency }, choice, found }: FoundProps,
): StatementFigure[] {
  const { counts, previous, totals, amount, metric, quantity } = found;
  const [one, ...others] = totals.filter((total) => total.metric === metric);
  const measure = measureOf(found);
  const isFiltered = choice.search !== "";
  return [
    currency === null || amount === null
      ? {
        label: "Products and metrics",
        value: groupDigits(totals.length),
        note: "With usage or adjustments",
      }
      : {
        label: "Estimated",
        value: <Amount value={amount} currency={currency} />,
        note: "All organizations, adjustments included",
      },
    {
      label: measure.name,
      value: <SignedQuantity value={quantity} measure={measure} />,
      note: (
        <>
          {one && others.length === 0 ? <bdi>{one.productName ?? one.productSlug}</bdi> : "All products"}
          {counts.adjusted > 0 && ", adjustments included"}
        </>
      ),
    },
    {
      label: isFiltered ? "Organizations found" : "Organizations",
      value: groupDigits(counts.all),
      note: `${groupDigits(counts.adjusted)} with adjustments`,
    },
    {
      label: "Compared with",
      value: previous === null ? "–" : shortPeriod(previous.period),
      note: previous === null
        ? "No earlier statement"
        : <a href={statementHref(previous.id)}>View statement</a>,
    },
  ];
}

/** Returns the metric of the quantities. */
function measureOf({ metric, totals }: StatementOrganizations) {
  const total = totals.find((one) => one.metric === metric);
  return billedMetric(total ?? { metric: metric ?? "", metricName: null, unit: null });
}

type FoundProps = StatementPageProps & { readonly found: StatementOrganizations };

function Organizations(props: FoundProps) {
  const { found: { counts, organizations }, choice: { search } } = props;
  return (
    <ListCard
      label="Organizations"
      tabs={<AdjustmentTabs {...props} />}
      tools={
        <>
          <SearchBox
            action={statementHref(props.statement.id)}
            search={search}
            searches="name or external ID"
            hidden={hiddenFields(props)}
          />
          <MetricMenu {...props} />
        </>
      }
      footer={organizations.length > 0 && <ListFoot {...props} />}
    >
      {search !== "" && (
        <HintLine
          text={
            <>
              {`${countOf(counts.all, "organization")} found for `}
              “<bdi>{search}</bdi>”
            </>
          }
          href={hrefTo(props, { search: "" })}
          action="Clear search"
        />
      )}
      {organizations.length === 0 ? <EmptyState {...emptyText(props)} /> : <OrganizationRows {...props} />}
    </ListCard>
  );
}

/** Returns the choices that a search keeps. */
function hiddenFields({ choice }: FoundProps): Record<string, string> {
  const { isAdjusted, metric, sort, showsAllProducts } = choice;
  return {
    ...isAdjusted && { show: "adjusted" },
    ...metric !== null && { metric },
    ...sort !== "name" && { sort },
    ...showsAllProducts && { products: "all" },
  };
}

function AdjustmentTabs(props: FoundProps) {
  const { found: { counts }, choice } = props;
  const tab = (isAdjusted: boolean, label: string, count: number) => ({
    href: hrefTo(props, { isAdjusted }),
    label,
    count,
    isCurrent: isAdjusted === choice.isAdjusted,
  });
  return (
    <Tabs
      label="Show"
      tabs={[tab(false, "All", counts.all), tab(true, "With adjustments", counts.adjusted)]}
    />
  );
}

function ListFoot(props: FoundProps) {
  const { found: { counts, organizations }, choice, isFirstPage, nextCursor } = props;
  const count = countOf(choice.isAdjusted ? counts.adjusted : counts.all, "organization");
  const isPart = !isFirstPage || nextCursor !== null;
  return (
    <>
      <span>{isPart ? `${groupDigits(organizations.length)} of ${count}` : count}</span>
      <PageLinks
        links={[
          { href: isFirstPage ? null : hrefTo(props, {}), label: "First page" },
          { href: nextCursor && hrefTo(props, { cursor: nextCursor }), label: "Next" },
        ]}
      />
    </>
  );
}

function emptyText({ choice, statement, frame }: FoundProps): { title: string; text: string } {
  if (choice.search !== "") {
    return { title: "No organizations found", text: "Search by a part of the name, or by external ID." };
  }
  if (choice.isAdjusted) {
    return { title: "No adjustments", text: "Nothing was recorded or voided for a closed month." };
  }
  return isRunning(statement, frame.now)
    ? { title: "No usage yet", text: "Organizations appear here as soon as they record usage." }
    : { title: "No lines", text: "Nothing was recorded for this month." };
}

function MetricMenu(props: FoundProps) {
  const { found: { metric, totals } } = props;
  const metrics = new Map(totals.map((total) => [total.metric, billedMetric(total).name]));
  if (metric === null || metrics.size < 2) return null;
  return (
    <Menu label="Metric" value={metrics.get(metric) ?? metric} isAtEnd>
      <MenuLinks
        choices={[...metrics].map(([slug, name]) => ({
          href: hrefTo(props, { metric: slug }),
          label: name,
          isCurrent: slug === metric,
        }))}
      />
    </Menu>
  );
}

function OrganizationRows(props: FoundProps) {
  const { statement, found: { organizations, previous } } = props;
  const { id } = statement;
  const currency = props.found.amount === null ? null : statement.currency;
  const measure = measureOf(props.found);
  const sorted = (sort: StatementOrganizationSort) => ({
    href: hrefTo(props, { sort }),
    direction: props.choice.sort !== sort
      ? null
      : sort === "name"
      ? "ascending" as const
      : "descending" as const,
  });
  const change = (one: StatementOrganization) => <OrganizationChange organization={one} />;
  const columns: ItemColumn<StatementOrganization>[] = [
    {
      title: "Organization",
      in: "title",
      sort: sorted("name"),
      cell: (one) => (
        <>
          <LinkedName href={statementHref(id, one.id)} name={one.name} note={one.externalId ?? one.id} />
          {one.adjustments > 0 && (
            <div class="on-card muted tiny">{countOf(one.adjustments, "adjustment")}</div>
          )}
        </>
      ),
    },
    {
      title: "Adjustments",
      isOptional: true,
      cell: ({ adjustments }) =>
        adjustments === 0 ? "–" : <Badge tone="soon">{countOf(adjustments, "adjustment")}</Badge>,
    },
    { title: "Lines", isNumber: true, isOptional: true, drop: 2, cell: ({ lines }) => groupDigits(lines) },
    {
      title: measure.name,
      isNumber: true,
      isOptional: currency !== null,
      ...currency !== null && { drop: 2 },
      sort: sorted("quantity"),
      cell: ({ quantity }) => <SignedQuantity value={quantity} measure={measure} />,
    },
    ...(currency === null ? [] : [{
      title: "Estimated",
      isNumber: true,
      sort: sorted("amount"),
      cell: ({ amount }: StatementOrganization) => <Amount value={amount} currency={currency} />,
    }]),
    ...(previous === null ? [] : [{
      title: versus(statement, previous, props.frame.now),
      isNumber: true,
      isOptional: true,
      cell: change,
    }]),
  ];
  return <ItemTable label="Organizations" items={organizations} columns={columns} isSmall />;
}

/** By the amounts if there are any, otherwise by the quantities. */
function OrganizationChange({ organization }: { organization: StatementOrganization }) {
  const { amount, previousAmount, quantity, previousQuantity } = organization;
  const [now, before] = amount !== null && previousAmount !== null
    ? [amount, previousAmount]
    : [quantity, previousQuantity];
  const isNothing = before === null || (Number(before) === 0 && Number(now) === 0);
  return isNothing ? <>–</> : <ShortChange percent={percentChange(now, before)} />;
}
