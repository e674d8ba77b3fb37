// One organization's part of a statement, for its members and for operators.
import type { Statement, StatementPage, StatementTotal } from "../../domain/billing/statement.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { Amount } from "../components/amount.tsx";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { PageHead, type PageLink } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { type Page, type Place, type PortalFrame, PortalPage } from "../layout.tsx";
import { organizationHref } from "../components/links.ts";
import { isRunning, periodWords, shortPeriod, statementTitle, valuesCsvHref } from "./statement_text.ts";
import {
  type AmountBefore,
  AmountChange,
  paceFigures,
  StatementDays,
  type StatementFigure,
  StatementFigures,
  StatementNotice,
} from "./statement_facts.tsx";
import { AdjustmentTable, LineQuantity, UsageLineTable, VoidTable } from "./statement_lines.tsx";

/** The organization’s usage in the month before, or in as many of its days. */
export interface LinesBefore extends AmountBefore {
  /** Without adjustments, by `metricKey`. */
  readonly quantities: ReadonlyMap<string, string>;
}

export interface OrganizationStatementProps {
  readonly frame: PortalFrame;
  readonly place: Place;
  readonly back: PageLink;
  readonly statement: Statement;
  /** Null on the organization's own pages. `isDeleted`: it has no page. */
  readonly organization: { readonly id: string; readonly name: string; readonly isDeleted: boolean } | null;
  /** Null if they could not be read in time, and while the month is being closed. */
  readonly shown: StatementPage | null;
  /** Null if it is unknown. */
  readonly before: LinesBefore | null;
  readonly csvHref: string;
  readonly nextHref: string | null;
}

export function organizationStatementPage(props: OrganizationStatementProps): Page {
  const { frame, place, back, statement, organization, shown } = props;
  const { status } = statement;
  const title = statementTitle(statement, frame.now);
  return (
    <PortalPage
      title={organization === null ? title : `${title} · ${organization.name}`}
      frame={frame}
      place={place}
    >
      <PageHead
        back={back}
        title={organization === null ? title : `${title}: {name}`}
        name={organization?.name}
        text={<StatementDays statement={statement} now={frame.now} />}
      >
        {status !== "closing" && <ButtonLink href={props.csvHref} isFile>Download CSV</ButtonLink>}
        {shown?.lines.some(({ dimensions }) => dimensions.length > 0) && (
          <ButtonLink href={valuesCsvHref(props.csvHref)} isFile>CSV by property</ButtonLink>
        )}
        {organization !== null && !organization.isDeleted && (
          <ButtonLink href={organizationHref(organization.id)}>View organization</ButtonLink>
        )}
      </PageHead>
      <StatementNotice statement={statement} isBusy={status !== "closing" && shown === null} />
      {shown && (
        <>
          {shown.totals !== null && shown.totals.length > 0 && (
            <StatementFigures
              label="Summary"
              figures={figuresOf(props, { ...shown, totals: shown.totals })}
            />
          )}
          <Lines {...props} shown={shown} />
          <PageLinks links={[{ href: props.nextHref, label: "More lines" }]} />
          {shown.lines.some(({ amount }) => amount !== null) && <EstimateNote />}
        </>
      )}
    </PortalPage>
  );
}

export function EstimateNote() {
  return (
    <p class="muted small">
      Amounts are estimated: exact quantities times unit prices, before discounts and taxes. This isn’t an
      invoice.
    </p>
  );
}

function figuresOf(
  { frame, statement, before, nextHref }: OrganizationStatementProps,
  { totals, amount, parts, voided, lines }: StatementPage & { totals: readonly StatementTotal[] },
): StatementFigure[] {
  const [main] = totals;
  return [
    statement.currency === null || amount === null
      ? {
        label: main?.metricName ?? main?.metric ?? "Usage",
        value: main ? <LineQuantity line={main} /> : "0",
        note: main ? <bdi>{main.productName ?? main.productSlug}</bdi> : "",
      }
      : {
        label: "Estimated",
        value: <Amount value={amount} currency={statement.currency} />,
        note: <AmountChange amount={amount} parts={parts} statement={statement} before={before} />,
      },
    ...paceFigures({ statement, amount, parts, before, now: frame.now }),
    { label: "Products and metrics", value: groupDigits(totals.length), note: "With usage or adjustments" },
    nextHref === null
      ? {
        label: "Adjustments",
        value: groupDigits(lines.filter(({ adjustmentOf }) => adjustmentOf !== null).length),
        note: "Of earlier months",
      }
      : {
        label: "Lines",
        value: groupDigits(totals.reduce((sum, { lines }) => sum + lines, 0)),
        note: "Adjustments included",
      },
    {
      label: "Voided",
      value: groupDigits((voided ?? []).reduce((sum, { records }) => sum + records, 0)),
      note: statement.status === "closed" ? "Before or after it was closed" : "Not part of the usage",
    },
  ];
}

function Lines(
  { frame: { now }, before, nextHref, shown: { statement, lines, voided, totals } }:
    & Pick<OrganizationStatementProps, "frame" | "before" | "nextHref">
    & { readonly shown: StatementPage },
) {
  const usage = lines.filter(({ adjustmentOf }) => adjustmentOf === null);
  const adjustments = lines.filter(({ adjustmentOf }) => adjustmentOf !== null);
  return (
    <>
      {(usage.length > 0 || lines.length === 0) && (
        <Card title="Usage" flush>
          {usage.length === 0
            ? (
              <EmptyState
                title="No usage"
                text={isRunning(statement, now)
                  ? "Usage of this month appears here as soon as it is recorded."
                  : `Nothing was recorded for ${periodWords(statement.period)}.`}
              />
            )
            : (
              <UsageLineTable
                lines={usage}
                statement={statement}
                before={before}
                isPart={totals === null || nextHref !== null}
              />
            )}
        </Card>
      )}
      {adjustments.length > 0 && (
        <Card title="Adjustments" flush>
          <p class="hint-line">
            Usage of earlier months that was recorded (+) or voided (−) after those months were closed.
          </p>
          <AdjustmentTable lines={adjustments} statement={statement} />
        </Card>
      )}
      {voided !== null && voided.length > 0 && (
        <Card title="Voided" flush>
          <p class="hint-line">{voidedText(statement)}</p>
          <VoidTable voided={voided} />
        </Card>
      )}
    </>
  );
}

function voidedText({ status, period }: Statement): string {
  const month = shortPeriod(period);
  return status === "closed"
    ? `Records of ${month} that were voided. Those voided after ${month} was closed are still part of the usage above: a later month subtracts them as adjustments.`
    : `Records of ${month} that were voided. They aren’t part of the usage above and aren’t billed.`;
}
