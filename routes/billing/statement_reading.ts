// What the console's page of a statement shows, read by its address.
import { sameDays } from "../../domain/billing/forecast.ts";
import { shiftPeriod, type Statement, statementOrganizationSorts } from "../../domain/billing/statement.ts";
import { consolePageItemsMax, statementWaitMs } from "../../domain/limits.ts";
import { slugForm } from "../../domain/meter/usage_record.ts";
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import { countOf } from "../../domain/number_text.ts";
import { listStatementOrganizations, readUsageOfDays, statementsFor } from "../../services/billing/mod.ts";
import type { AmountBefore } from "../../views/billing/statement_facts.tsx";
import { isRunning, periodWords } from "../../views/billing/statement_text.ts";
import type { Place, PortalFrame } from "../../views/layout.tsx";
import { amountText } from "../../views/text/amount.ts";
import type { AppContext } from "../env.ts";
import { inTime } from "../portal/in_time.ts";
import { type ConsoleActor, searchOf } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import { cursorOf } from "./statement_lines.ts";

export interface Shown {
  readonly frame: PortalFrame;
  readonly place: Place;
  readonly statement: Statement;
  readonly c: AppContext;
  readonly actor: ConsoleActor;
}

export async function readStatementPage({ services }: PortalParts, { c, actor, ...page }: Shown) {
  const { period, status } = page.statement;
  const { choice, fault } = choiceOf(c);
  const cursor = cursorOf(c);
  const { search, isAdjusted, metric, sort } = choice;
  const query = { search: search || undefined, isAdjusted, metric: metric ?? undefined, sort };
  const days = isRunning(page.statement, page.frame.now)
    ? sameDays(page.statement, page.frame.now)
    : undefined;
  const list = { ...query, id: period, limit: consolePageItemsMax, cursor, days };
  const found = status === "closing" ? null : await inTime(
    (signal) => listStatementOrganizations(services, actor, { ...list, signal }),
    statementWaitMs,
  );
  const before = days === undefined || found === null
    ? null
    : await readBefore(services, actor, { days, found });
  const isUnknown = metric !== null && found !== null &&
    found.totals.every((total) => total.metric !== metric) &&
    found.organizations.every(({ quantity }) => quantity === "0");
  return {
    ...page,
    choice,
    /** Why a choice in the address is ignored. */
    fault: fault ?? (isUnknown ? `No data for “${metric}”.` : null),
    /** Null if they could not be read in time, and while the month is being closed. */
    found,
    /** Says that the month has just been closed. */
    closed: c.req.query("done") === "closed" && status === "closed" && found !== null
      ? closedText(found)
      : null,
    /** Null if the month doesn't go on. */
    before,
    isFirstPage: cursor === undefined,
    nextCursor: found?.nextCursor ?? null,
  };
}

/** Reads what as many days of the month before amounted to, and the whole month if it is closed. */
async function readBefore(
  services: PortalParts["services"],
  actor: ConsoleActor,
  { days, found: { statement, previous } }: {
    days: UsageWindow;
    found: Awaited<ReturnType<typeof listStatementOrganizations>>;
  },
): Promise<AmountBefore> {
  const [part, whole] = await Promise.all([
    inTime((signal) => readUsageOfDays(services, statementsFor(actor), { days, signal })),
    previous?.currency !== statement.currency || previous === null ? null : inTime(
      (signal) => listStatementOrganizations(services, actor, { id: previous.id, limit: 1, signal }),
    ),
  ]);
  return {
    period: shiftPeriod(statement.period, -1),
    days,
    amount: part?.amount ?? null,
    wholeAmount: whole?.amount ?? null,
  };
}

function closedText({ statement, counts, amount }: Awaited<ReturnType<typeof listStatementOrganizations>>) {
  const { period, currency } = statement;
  const sum = amount === null || currency === null ? "" : `, ${amountText(amount, currency).text}`;
  const next = periodWords(shiftPeriod(period, 1));
  return `${periodWords(period)} has been closed for ${countOf(counts.all, "organization")}${sum}. ` +
    `Webhook endpoints receive “statement.closed”. Download the CSV to bill by it. Later changes become adjustments in ${next}.`;
}

export type StatementPageProps = Awaited<ReturnType<typeof readStatementPage>>;
export type StatementOrganizations = NonNullable<StatementPageProps["found"]>;

/** Choices in the address of the page. `metric`: null for the default one. */
export type StatementChoice = ReturnType<typeof choiceOf>["choice"];

function choiceOf(c: AppContext) {
  const { sort: sortText, show = "", metric = "", products } = c.req.query();
  const sort = statementOrganizationSorts.find((one) => one === sortText);
  const faults = [
    sortText && sort === undefined && `Can’t sort by “${sortText}”. Showing organizations by name.`,
    show !== "" && show !== "adjusted" && `No filter “${show}”. Showing all organizations.`,
    metric !== "" && !slugForm.test(metric) && `No data for “${metric}”.`,
  ];
  return {
    choice: {
      search: searchOf(c),
      isAdjusted: show === "adjusted",
      metric: slugForm.test(metric) ? metric : null,
      sort: sort ?? "name",
      showsAllProducts: products === "all",
    },
    fault: faults.find((fault) => fault) || null,
  };
}
