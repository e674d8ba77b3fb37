// The console's page of a statement, closed or open: totals by product, and one row for each organization.
import {
  openStatement,
  type StatementOrganization,
  type StatementOrganizationSort,
} from "../../domain/billing/statement.ts";
import { billedMetric } from "../../domain/meter/catalogue.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { EstimateNote } from "../../views/billing/statement.tsx";
import {
  AmountChange,
  paceFigures,
  StatementDays,
  type StatementFigure,
  StatementFigures,
  StatementNotice,
} from "../../views/billing/statement_facts.tsx";
import {
  amountColumn,
  OrganizationChange,
  SignedQuantity,
  TotalTable,
} from "../../views/billing/statement_lines.tsx";
import {
  isRunning,
  periodWords,
  shortPeriod,
  statementCsvHref,
  statementHref,
  statementTitle,
  versus,
} from "../../views/billing/statement_text.ts";
import { Amount } from "../../views/components/amount.tsx";
import { Badge } from "../../views/components/badge.tsx";
import { ButtonLink } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { EmptyState } from "../../views/components/empty_state.tsx";
import { type ItemColumn, ItemTable } from "../../views/components/item_table.tsx";
import { statementsHref } from "../../views/components/links.ts";
import { HintLine, ListCard, SearchBox, Tabs } from "../../views/components/list_card.tsx";
import { listHref } from "../../views/components/list_filters.tsx";
import { Menu, MenuLinks } from "../../views/components/menu.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { PageLinks } from "../../views/components/page_links.tsx";
import { LinkedName } from "../../views/components/table.tsx";
import { PortalPage } from "../../views/layout.tsx";
import type { StatementChoice, StatementOrganizations, StatementPageProps } from "./statement_reading.ts";

const totalsShownMax = 8;

export function statementPage(props: StatementPageProps) {
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
      <Notice tone="done" text={props.closed} />
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
        <TotalTable totals={shown} statement={statement} isPart={shown.length < totals.length} />
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

function figuresOf({ frame, statement, choice, found, before }: FoundProps): StatementFigure[] {
  const { currency } = statement;
  const { counts, previous, totals, amount, parts, metric, quantity } = found;
  const pace = paceFigures({ statement, amount, parts, before, now: frame.now });
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
        note: <AmountChange amount={amount} parts={parts} statement={statement} before={before} />,
      },
    ...pace,
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
    ...pace.length > 0 ? [] : [{
      label: "Compared with",
      value: previous === null ? "–" : shortPeriod(previous.period),
      note: previous === null
        ? "No earlier statement"
        : <a href={statementHref(previous.id)}>View statement</a>,
    }],
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
  const { statement, before, found: { organizations, previous } } = props;
  const compared = before ?? (previous && { period: previous.period, days: null });
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
      ...amountColumn(({ amount }: StatementOrganization) => ({ amount, currency })),
      sort: sorted("amount"),
    }]),
    ...(compared === null ? [] : [{
      title: versus(compared, statement.timezone),
      isNumber: true,
      isOptional: true,
      cell: change,
    }]),
  ];
  return <ItemTable label="Organizations" items={organizations} columns={columns} isSmall />;
}
