// What an organization is billed by: its plan and limits, the open month so far, and closed months.
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import type { OrganizationPlan } from "../../domain/operator/plan.ts";
import type { OrganizationStatement, Statement } from "../../domain/operator/statement.ts";
import { Amount } from "../components/amount.tsx";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { type ItemColumn, ItemTable } from "../components/item_table.tsx";
import { LimitMeters, nearShare, usedShare } from "../components/limit_meters.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { PlanName } from "../components/plan_link.tsx";
import { LinkedName } from "../components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { billingCsvHref, billingHref, periodWords, statementTitle } from "../operator/statement_text.ts";
import { shortDate } from "../text/time.ts";
import { onClock, zoneWords } from "../text/zone.ts";
import { EstimateNote, type LinesBefore, type OrganizationLines } from "./statement.tsx";
import { AmountChange, StatementBadge, type StatementFigure, StatementFigures } from "./statement_facts.tsx";
import { LineQuantity, UsageLineTable } from "./statement_lines.tsx";

interface BillingPageProps extends OrganizationPlan {
  readonly frame: PortalFrame;
  /** Those with the largest part used first; null when they are not available. */
  readonly limits: readonly LimitStanding[] | null;
  readonly catalogue: Catalogue | undefined;
  /** The next month to close. */
  readonly open: Statement;
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
  const { frame, open, statements } = props;
  const hasAmounts = [open, ...(statements ?? []).map(({ statement }) => statement)]
    .some(({ currency }) => currency !== null);
  return (
    <PortalPage title="Billing" frame={frame} place="billing">
      <PageHead
        title="Billing"
        text={`${hasAmounts ? "Usage and estimated cost" : "Usage"} by month, in ${
          zoneWords(open.timezone)
        }.`}
      >
        <ButtonLink href={billingCsvHref(frame, open)} isFile>Download CSV</ButtonLink>
      </PageHead>
      <StatementFigures label="Summary" figures={figuresOf(props)} />
      <div class="columns">
        <OpenMonth {...props} />
        <div class="stacked">
          {props.limits?.length !== 0 && <Limits {...props} />}
          <Statements {...props} />
        </div>
      </div>
      {hasAmounts && <EstimateNote />}
    </PortalPage>
  );
}

function figuresOf(props: BillingPageProps): StatementFigure[] {
  const { frame, plan, open, shown, before, limits, statements } = props;
  const [main] = shown?.totals ?? [];
  const [last] = statements ?? [];
  const near = (limits ?? []).filter((limit) => usedShare(limit) >= nearShare).length;
  const reached = (limits ?? []).filter((limit) => usedShare(limit) >= 1).length;
  return [
    {
      label: "Plan",
      value: <bdi>{plan.name}</bdi>,
      note: limits === null
        ? ""
        : limits.length === 0
        ? "No limits of usage"
        : reached > 0
        ? `${countOf(reached, "limit")} reached`
        : near > 0
        ? `${countOf(near, "limit")} nearly used up`
        : countOf(limits.length, "limit"),
    },
    shown === null
      ? { label: statementTitle(open, frame.now), value: "–", note: "Not available right now" }
      : open.currency !== null && shown.amount !== null
      ? {
        label: `${statementTitle(open, frame.now)}, estimated`,
        value: <Amount value={shown.amount} currency={open.currency} />,
        note: <AmountChange amount={shown.amount} statement={open} before={before} now={frame.now} />,
      }
      : {
        label: statementTitle(open, frame.now),
        value: main ? <LineQuantity line={main} /> : "0",
        note: main
          ? <bdi>{`${main.productName ?? main.productSlug} · ${main.metricName ?? main.metric}`}</bdi>
          : "No usage yet",
      },
    last === undefined ? { label: "Last statement", value: "–", note: "No month was closed yet" } : {
      label: `${periodWords(last.statement.period)}${last.amount === null ? "" : ", estimated"}`,
      value: last.amount !== null && last.statement.currency !== null
        ? <Amount value={last.amount} currency={last.statement.currency} />
        : groupDigits(last.lines),
      note: (
        <>
          {last.amount === null && `${last.lines === 1 ? "line" : "lines"} · `}
          <a href={billingHref(frame, last.statement.period)}>View statement</a>
        </>
      ),
    },
    {
      label: "Month ends",
      value: shortDate(onClock(Date.parse(open.end) - 1, open.timezone), onClock(frame.now, open.timezone)),
      note: `At midnight in ${zoneWords(open.timezone)}`,
    },
  ];
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
        : <UsageLineTable lines={usage} statement={open} before={before} />}
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

function Limits({ frame, plan, limits, catalogue, timezone }: BillingPageProps) {
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
          <p class="muted small">{`Windows follow the calendar in ${zoneWords(timezone)}.`}</p>
        </>
      )}
    </Card>
  );
}

function Statements({ frame, statements, olderHref }: BillingPageProps) {
  if (statements === null || statements.length === 0) {
    return (
      <Card title="Statements" flush>
        {statements === null
          ? <EmptyState title="Not available right now" text="Reload the page in a minute." />
          : (
            <EmptyState
              title="No statements yet"
              text="A month appears here when it is closed. Then it never changes."
            />
          )}
      </Card>
    );
  }
  const hasAmounts = statements.some(({ amount }) => amount !== null);
  const amount: ItemColumn<OrganizationStatement> = {
    title: "Estimated",
    isNumber: true,
    cell: ({ amount, statement: { currency } }) =>
      amount === null || currency === null ? "–" : <Amount value={amount} currency={currency} />,
  };
  return (
    <Card title="Statements" aside={<span class="muted small">Closed months never change</span>} flush>
      <ItemTable
        label="Statements"
        items={statements}
        columns={[
          {
            title: "Month",
            in: "title",
            cell: ({ statement, adjustments }) => (
              <>
                <LinkedName
                  href={billingHref(frame, statement.period)}
                  name={periodWords(statement.period)}
                />
                {adjustments > 0 && (
                  <div class="muted tiny">
                    {`With ${countOf(adjustments, "adjustment")} of earlier months`}
                  </div>
                )}
              </>
            ),
          },
          ...(hasAmounts ? [amount] : [{
            title: "Lines",
            isNumber: true,
            cell: ({ lines }: OrganizationStatement) => groupDigits(lines),
          }]),
          {
            title: "Status",
            isOptional: true,
            cell: ({ statement }) => <StatementBadge {...statement} />,
          },
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
      {olderHref !== null && (
        <footer class="list-foot">
          <span></span>
          <PageLinks label="Pages of statements" links={[{ href: olderHref, label: "Older statements" }]} />
        </footer>
      )}
    </Card>
  );
}
