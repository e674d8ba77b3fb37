// Statements and months that are still open, as operators and members read them.
import {
  findNewestStatement,
  findStatement,
  findStatements,
  isBeforeAll,
  type StatementRow,
} from "../../db/billing/statements.ts";
import { existsOrganization } from "../../db/access/mod.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { notFoundError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import {
  billingMonth,
  isPeriod,
  lastEndedPeriod,
  nextMonth,
  notClosedError,
  openMonths,
  openStatement,
  type OrganizationStatement,
  type Statement,
  type StatementPage,
} from "../../domain/billing/statement.ts";
import type { UsageWindow } from "../../domain/meter/usage_window.ts";
import { isoTime } from "../../domain/time.ts";
import type { SessionContext } from "../context.ts";
import { invalidCursorError, type PageInput, readPage, requireIdCursor } from "../pages.ts";
import { type JobReader, operatorReader } from "../reports/job_reader.ts";
import type { MonthPart } from "./jobs/month_part.ts";
import type { StatementMonth } from "./jobs/statement_charges.ts";
import { parseLineCursor } from "./jobs/statement_lines.ts";
import type { StatementOrganizationsQuery } from "./jobs/statement_organizations.ts";
import type { JobResult } from "../reports/job_list.ts";
import type { JobBytes } from "../reports/reports.ts";

/** Selects one organization's part of a statement, or all of it. An organization's `Access` is a scope, too. */
export interface StatementScope {
  readonly reader: JobReader;
  /** Undefined for all organizations, which only operators read. */
  readonly organizationId?: string | undefined;
}

/** Returns the scope of an operator. @param organizationId One that may have been deleted; undefined for all. */
export function statementsFor(actor: OperatorActor, organizationId?: string): StatementScope {
  return { reader: operatorReader(actor), organizationId };
}

/**
 * Lists statements, newest first.
 *
 * @returns `open`: the months that are not closed, newest first: the running one, and the next to close if it has ended. `next`:
 *   the next to close.
 * @throws {AppError} `validation_failed` for an invalid cursor.
 */
export async function listStatements(
  context: SessionContext,
  { limit, cursor }: PageInput,
) {
  const { database, clock, config } = context;
  const before = await numberOfCursor(context, cursor);
  const { rows, nextCursor } = await readPage(
    (limit) => findStatements(database, { limit, before }),
    { limit, cursorOf: ({ id }) => id },
  );
  const newest = await findMonthBefore(context);
  const { period, start, end } = nextMonth(newest, { now: clock(), timezone: config.billingTimezone });
  return {
    statements: rows.map(toStatement),
    open: listOpen(context, newest),
    next: { period, start: isoTime(start), end: isoTime(end), isEnded: end <= clock() },
    nextCursor,
  };
}

/** Returns a statement or an open month without lines. @param id As in {@linkcode readStatement}. @throws {AppError} `not_found`. */
export async function getStatement(context: SessionContext, id: string): Promise<Statement> {
  return toStatement(await requireMonth(context, id));
}

/**
 * Reads a statement with a page of lines. Nothing is written for an open one: its lines are those that closing it now would write.
 *
 * @param input `id`: a statement's id, `open`, or a month such as `2026-10`, closed or open.
 * @returns Lines by organization, month (the statement's own first), product and metric; those of one organization in the order of
 *   the catalogue.
 * @throws {AppError} `not_found`; `validation_failed` for an invalid cursor, also one from before the month was closed;
 *   `statement_not_closed` if closing begins while an open month is read; `unavailable`.
 */
export async function readStatement(
  context: SessionContext,
  { reader, organizationId }: StatementScope,
  { id, limit, cursor, signal }: PageInput & { id: string; signal: AbortSignal },
): Promise<StatementPage & { readonly nextCursor: string | null }> {
  const month = await requireMonth(context, id);
  const statement = toStatement(month);
  const after = cursor === undefined ? undefined : parseLineCursor(cursor, month);
  if (month.status === "closing") {
    const none = { totals: null, amount: null, parts: null, voided: null };
    return { statement, ...none, lines: [], nextCursor: null };
  }
  const input = { month, organizationId, after, limit, now: context.clock() };
  const read = await context.reports.read("readStatementLines", input, { reader, signal });
  const isNone = read.lines.length === 0 && organizationId !== undefined;
  if (isNone && !await existsOrganization(context.database, organizationId)) throw notFoundError();
  return { statement, ...read };
}

/** Reads usage of some days, at the prices of now. @throws {AppError} `unavailable`. */
export async function readUsageOfDays(
  { reports, clock }: SessionContext,
  { reader, organizationId }: StatementScope,
  { days, signal }: { days: UsageWindow; signal: AbortSignal },
): Promise<MonthPart> {
  return await reports.read("readMonthPart", { organizationId, days, now: clock() }, { reader, signal });
}

/**
 * Returns the lines of a statement as CSV. @param input `id`: as in {@linkcode readStatement}. `isByValue`: the values of their dimensions
 *   instead.
 *
 * @throws {AppError} `not_found`, `statement_not_closed` while it is being closed, `unavailable`.
 */
export async function readStatementCsv(
  context: SessionContext,
  { reader, organizationId }: StatementScope,
  { id, isByValue = false, signal }: { id: string; isByValue?: boolean; signal: AbortSignal },
): Promise<Pick<Statement, "period" | "status"> & { report: JobBytes }> {
  const month = await requireMonth(context, id);
  const { period, status } = month;
  if (status === "closing") throw notClosedError(period);
  const input = { month, organizationId, isByValue, now: context.clock() };
  const report = await context.reports.bytes("statementCsv", input, { reader, signal });
  return { period, status, report };
}

/**
 * Lists the organizations of a statement, with their values in the previous statement. Statements of more than
 * 1,000 organizations are added up at most every 30 seconds.
 *
 * @param query `id`: as in {@linkcode readStatement}.
 * @returns No organizations while it is being closed.
 * @throws {AppError} As {@linkcode readStatement}.
 */
export async function listStatementOrganizations(
  context: SessionContext,
  actor: OperatorActor,
  { id, signal, ...query }: StatementOrganizationsQuery & { id: string; signal: AbortSignal },
): Promise<StatementOrganizations> {
  const month = await requireMonth(context, id);
  const statement = toStatement(month);
  if (month.status === "closing") return { statement, ...noOrganizations };
  const input = { month, ...query, now: context.clock() };
  const { previous, ...page } = await context.reports.read("readStatementOrganizations", input, {
    reader: operatorReader(actor),
    signal,
  });
  return { statement, previous: previous && toStatement(previous), ...page };
}

type StatementOrganizations =
  & Pick<StatementPage, "statement" | "parts">
  & Omit<JobResult<"readStatementOrganizations">, "previous" | "parts">
  & { readonly previous: Statement | null };

const noOrganizations = {
  previous: null,
  metric: null,
  quantity: "0",
  counts: { all: 0, adjusted: 0 },
  totals: [],
  amount: null,
  parts: null,
  organizations: [],
  nextCursor: null,
};

/**
 * Lists an organization's part of the newest statements, newest first: those since it was created, and earlier ones with lines.
 *
 * @param input `metric`: of the quantities.
 * @returns `open`: as in {@linkcode listStatements}.
 * @throws {AppError} `validation_failed` for an invalid cursor, `unavailable`.
 */
export async function listOrganizationStatements(
  context: SessionContext,
  { reader, organizationId }: StatementScope & { readonly organizationId: string },
  { metric = null, limit, cursor, signal }: PageInput & {
    metric?: string | null | undefined;
    signal: AbortSignal;
  },
): Promise<{ statements: OrganizationStatement[]; open: Statement[]; nextCursor: string | null }> {
  const before = await numberOfCursor(context, cursor);
  const input = { organizationId, metric, limit, before, now: context.clock() };
  const { rows, nextCursor } = await context.reports.read("readOrganizationStatements", input, {
    reader,
    signal,
  });
  return {
    statements: rows.map(({ statement, ...sums }) => ({ statement: toStatement(statement), ...sums })),
    open: listOpen(context, await findMonthBefore(context)),
    nextCursor,
  };
}

async function numberOfCursor(
  { database }: SessionContext,
  cursor: string | undefined,
): Promise<number | undefined> {
  if (cursor === undefined) return undefined;
  requireIdCursor(cursor, "stm");
  const row = await findStatement(database, { id: cursor });
  if (row === undefined) throw invalidCursorError();
  return row.number;
}

/**
 * Finds the month that the next one to close follows: that of the newest statement, or one that ended before there was anything to bill.
 * Undefined if any month can be the first.
 */
export async function findMonthBefore(
  { database, clock, config: { billingTimezone: timezone } }: Pick<
    SessionContext,
    "database" | "clock" | "config"
  >,
): Promise<MonthBefore | undefined> {
  const newest = await findNewestStatement(database);
  if (newest !== undefined) return newest;
  const last = billingMonth(lastEndedPeriod(clock(), timezone), { timezone });
  return await isBeforeAll(database, last) ? { ...last, number: 0 } : undefined;
}

type MonthBefore = Pick<StatementRow, "number" | "period" | "end">;

/** Returns the running month, and the next to close if that is another one. */
function listOpen(context: SessionContext, before: MonthBefore | undefined): Statement[] {
  const months = monthsAfter(context, before);
  return [...new Set([months.at(-1), months[0]])].flatMap((month) => month ? [toStatement(month)] : []);
}

/** Returns the open months, from the next to close up to the running one. */
function monthsAfter(
  { clock, config: { billingTimezone: timezone, currency } }: SessionContext,
  before: MonthBefore | undefined,
): StatementMonth[] {
  return openMonths(before, { now: clock(), timezone }).map((month, index) => ({
    ...month,
    id: index === 0 ? openStatement : month.period,
    number: (before?.number ?? 0) + 1 + index,
    status: "open",
    isNext: index === 0,
    currency,
    createdAt: null,
    closedAt: null,
  }));
}

/** Finds a statement or an open month. @throws {AppError} `not_found`. */
async function requireMonth(context: SessionContext, id: string): Promise<StatementMonth> {
  const { database } = context;
  // In this order: if the month is closed between the two reads, it is found by the second.
  const open = id === openStatement || isPeriod(id)
    ? monthsAfter(context, await findMonthBefore(context))
    : [];
  const row = isId("stm", id)
    ? await findStatement(database, { id })
    : isPeriod(id)
    ? await findStatement(database, { period: id })
    : undefined;
  const month = row ?? open.find((month) => month.id === id || month.period === id);
  if (month === undefined) throw notFoundError();
  return month;
}

export function toStatement(row: StatementMonth): Statement {
  const { id, period, timezone, status, currency } = row;
  return {
    id,
    period,
    start: isoTime(row.start),
    end: isoTime(row.end),
    timezone,
    status,
    currency,
    createdAt: isoTime(row.createdAt),
    closedAt: isoTime(row.closedAt),
  };
}
