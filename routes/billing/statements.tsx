// The console's pages of statements.
import {
  type NextStatement,
  openStatement,
  type Statement,
  type StatementOrganization,
} from "../../domain/billing/statement.ts";
import { isId } from "../../domain/id.ts";
import { statementWaitMs } from "../../domain/limits.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { resolveOrganization } from "../../services/access/mod.ts";
import {
  closeStatement,
  getStatement,
  listStatementOrganizations,
  listStatements,
  statementsFor,
} from "../../services/billing/mod.ts";
import { organizationStatementPage } from "../../views/billing/statement.tsx";
import { StatementBadge } from "../../views/billing/statement_facts.tsx";
import {
  amountColumn,
  OrganizationChange,
  organizationChange,
} from "../../views/billing/statement_lines.tsx";
import {
  isRunning,
  periodWords,
  shortPeriod,
  statementCsvHref,
  statementHref,
  statementTitle,
} from "../../views/billing/statement_text.ts";
import { Amount } from "../../views/components/amount.tsx";
import { Card } from "../../views/components/card.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import type { Fact } from "../../views/components/facts.tsx";
import { TextField } from "../../views/components/field.tsx";
import type { PageForm } from "../../views/components/form_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { statementsHref } from "../../views/components/links.ts";
import { listHref } from "../../views/components/list_filters.tsx";
import { ListPage } from "../../views/components/list_page.tsx";
import { DayTime, MomentTime } from "../../views/components/relative_time.tsx";
import { LinkedName } from "../../views/components/table.tsx";
import { zoneWords } from "../../views/text/zone.ts";
import type { App } from "../env.ts";
import { statementPage } from "./statement.tsx";
import { readStatementPage, type Shown } from "./statement_reading.ts";
import { inTime } from "../portal/in_time.ts";
import { mountFormPage, mountPage, paramOf, withInput } from "../portal/noun_pages.ts";
import { type ConsoleActor, consolePages } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import { cursorOf, readShownLines } from "./statement_lines.ts";

/** A year, because each statement is added up. */
const statementsShownMax = 12;
/** Organizations that are compared before a month is closed, and those of them that are shown. */
const comparedMax = 100;
const changedShownMax = 10;

export function statementPages(app: App, parts: PortalParts): void {
  const { services, config } = parts;
  const pages = consolePages(app, parts, "operator/statements");
  const withSums = statementSums(parts);

  mountPage(pages, statementsHref, async (c, { actor, ...page }) => {
    const cursor = cursorOf(c);
    const { statements, open, next, nextCursor } = await listStatements(services, {
      limit: statementsShownMax,
      cursor,
    });
    const shown = cursor === undefined ? [...open, ...statements] : statements;
    const rows = await withSums(actor, shown);
    const olderHref = nextCursor && listHref(statementsHref, { cursor: nextCursor });
    const month = periodWords(next.period);
    return (
      <ListPage
        {...page}
        title="Statements"
        text="A statement closes a month for all organizations. It never changes, so you can bill by it."
        add={next.isEnded ? { href: `${statementsHref}/close`, label: `Close ${month}` } : null}
        card="Newest first"
        empty={null}
        links={[{ href: olderHref, label: "Older statements" }]}
      >
        <StatementTable rows={rows} now={page.frame.now} />
      </ListPage>
    );
  });

  mountFormPage(pages, {
    path: `${statementsHref}/close`,
    async show(_c, form, actor) {
      const { statements, next } = await listStatements(services, { limit: 1 });
      const isFirst = statements.length === 0;
      const period = form.input?.["period"] ?? next.period;
      const { currency, billingTimezone: timezone } = config;
      const list = { id: openStatement, sort: currency === null ? "quantity" : "amount" } as const;
      const preview = await inTime(
        (signal) => listStatementOrganizations(services, actor, { ...list, limit: comparedMax, signal }),
        statementWaitMs,
      );
      return closeForm(withInput(form, { period }), { next, timezone, isFirst, preview });
    },
    async submit(_c, actor, { period = "" }) {
      const { statement } = await closeStatement(services, actor, { period, waitMs: statementWaitMs });
      return `${statementHref(statement.id)}?done=closed`;
    },
  });

  mountPage(pages, `${statementsHref}/:id`, async (c, { actor, ...page }) => {
    const statement = await getStatement(services, paramOf(c, "id"));
    const organizationId = c.req.query("organizationId");
    return organizationId
      ? await onePage(parts, { c, actor, ...page, statement, idText: organizationId })
      : statementPage(await readStatementPage(parts, { c, actor, ...page, statement }));
  });
}

type Preview = Awaited<ReturnType<typeof listStatementOrganizations>>;
/** Sums of a statement over all organizations. */
type StatementSums = Pick<Preview, "counts" | "amount">;

interface StatementRow {
  readonly statement: Statement;
  /** Null if they could not be read in time, and while the month is being closed. */
  readonly sums: StatementSums | null;
}

/**
 * Returns a function that adds up statements, closed ones first, while there is time: those of very many organizations take seconds.
 * Sums of closed ones are kept, because they never change.
 */
function statementSums({ services }: PortalParts) {
  const closed = new Map<string, StatementSums>();
  return async (actor: ConsoleActor, statements: readonly Statement[]): Promise<StatementRow[]> => {
    const sums = new Map(closed);
    await inTime(async (signal) => {
      const closedFirst = statements.toSorted((a, b) =>
        Number(a.status === "open") - Number(b.status === "open")
      );
      for (const { id, status } of closedFirst) {
        if (status === "closing" || sums.has(id)) continue;
        const { counts, amount } = await listStatementOrganizations(services, actor, {
          id,
          limit: 1,
          signal,
        });
        sums.set(id, { counts, amount });
        if (status === "closed") closed.set(id, { counts, amount });
      }
    });
    return statements.map((statement) => ({ statement, sums: sums.get(statement.id) ?? null }));
  };
}

/**
 * The page that asks whether to close a month.
 *
 * @param options `isFirst`: no month was closed yet, so that any can be the first. `preview`: its largest organizations; null if unknown.
 */
function closeForm(
  form: PageForm,
  { next, timezone, isFirst, preview }: {
    next: NextStatement;
    timezone: string;
    isFirst: boolean;
    preview: Preview | null;
  },
) {
  const month = periodWords(next.period);
  const moment = (at: string) => <MomentTime at={at} now={form.frame.now} timezone={timezone} />;
  return (
    <ConfirmPage
      {...form}
      title="Close month"
      heading={isFirst ? "Close the first month" : `Close ${month}?`}
      text={`This closes the month for all organizations. This can't be undone: usage that you record or void for the month later becomes an adjustment in the next statement.${
        isFirst ? " Months before the first one are never billed." : ""
      }`}
      facts={[
        ...(isFirst ? [] : [
          { label: "From", value: moment(next.start) },
          { label: "To", value: moment(next.end) },
        ]),
        { label: "Time zone", value: timezone },
        ...preview === null ? [] : previewFacts(preview, isFirst ? ` in ${month}` : ""),
        { label: "Preview", value: <a href={statementHref(openStatement)}>{`Lines of ${month}`}</a> },
      ]}
      hidden={isFirst ? undefined : { period: next.period }}
      submit={isFirst ? "Close month" : `Close ${month}`}
      after={preview && <ChangedMost preview={preview} />}
    >
      {isFirst && (
        <TextField
          label="Month"
          {...form.field("period")}
          hint="Year and month, such as 2026-10."
          required
          maxlength={7}
        />
      )}
    </ConfirmPage>
  );
}

/** @param suffix Names the month, if another one can be chosen. */
function previewFacts({ statement: { currency }, counts, amount }: Preview, suffix: string): Fact[] {
  return [
    { label: `Organizations${suffix}`, value: groupDigits(counts.all) },
    ...currency === null || amount === null
      ? []
      : [{ label: `Estimated${suffix}`, value: <Amount value={amount} currency={currency} /> }],
    { label: `With adjustments${suffix}`, value: groupDigits(counts.adjusted) },
  ];
}

/** The organizations whose statements changed by more than half, among the largest, so that a mistake is seen before it is billed. */
function ChangedMost({ preview: { organizations, counts, statement, previous } }: { preview: Preview }) {
  const { id, currency } = statement;
  const changed = organizations.filter((one) => {
    const percent = organizationChange(one);
    return percent === null || (percent !== undefined && Math.abs(percent) > 50);
  });
  if (previous === null || changed.length === 0) return null;
  const amount = amountColumn(({ amount }: StatementOrganization) => ({ amount, currency }));
  return (
    <Card
      title="Changed by more than half"
      aside={
        <span class="muted small">
          {counts.all > organizations.length
            ? `Among the ${organizations.length} largest`
            : countOf(changed.length, "organization")}
        </span>
      }
      flush
    >
      <ItemTable
        label="Changed by more than half"
        items={changed.slice(0, changedShownMax)}
        columns={[
          {
            title: "Organization",
            in: "title",
            cell: (one) => <LinkedName href={statementHref(id, one.id)} name={one.name} />,
          },
          ...organizations.some(({ amount }) => amount !== null) ? [amount] : [],
          {
            title: `vs ${shortPeriod(previous.period)}`,
            isNumber: true,
            cell: (one) => <OrganizationChange organization={one} />,
          },
        ]}
        isSmall
      />
    </Card>
  );
}

function StatementTable({ rows, now }: { rows: readonly StatementRow[]; now: number }) {
  const hasAmounts = rows.some(({ sums }) => sums !== null && sums.amount !== null);
  const amount = amountColumn(({ statement: { currency }, sums }: StatementRow) => (
    { amount: sums && sums.amount, currency }
  ));
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

async function onePage(parts: PortalParts, { c, actor, idText, ...page }: Shown & { idText: string }) {
  const { statement } = page;
  const { id } = statement;
  const organization = await organizationOf(parts, idText);
  const { shown, before, nextCursor } = await readShownLines(parts, statementsFor(actor, organization.id), {
    statement,
    cursor: cursorOf(c),
  });
  const name = organization.name ?? shown?.lines[0]?.organizationName ?? organization.id;
  return organizationStatementPage({
    ...page,
    back: { href: statementHref(id), label: statementTitle(statement, page.frame.now) },
    organization: { id: organization.id, name, isDeleted: organization.name === null },
    shown,
    before,
    csvHref: statementCsvHref(id, organization.id),
    nextHref: nextCursor &&
      listHref(statementHref(id), { organizationId: organization.id, cursor: nextCursor }),
  });
}

/** Returns the organization that the address names. `name`: null for one that may have been deleted. */
async function organizationOf(
  { services }: PortalParts,
  idText: string,
): Promise<{ id: string; name: string | null }> {
  try {
    return await resolveOrganization(services, idText);
  } catch (error) {
    if (isId("org", idText)) return { id: idText, name: null };
    throw error;
  }
}
