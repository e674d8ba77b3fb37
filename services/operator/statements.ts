// Statements: closing a month, by an operator or by the schedule, and reading what was closed.
import { insertAuditEvent } from "../../db/audit.ts";
import type { Statement as SqlStatement, WriteResult } from "../../db/engine/database.ts";
import {
  findNewestStatement,
  findStatement,
  findStatementOf,
  findStatements,
  finishStatement,
  insertStatement,
  insertStatementLines,
  moveStatementOn,
  type StatementRow,
  type StatementTotalRow,
} from "../../db/operator/statements.ts";
import type { Actor, OperatorActor } from "../../domain/actor.ts";
import { AppError, notFoundError, validationError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { pageItemsDefault } from "../../domain/limits.ts";
import { microsToDecimal, sumMicros } from "../../domain/meter/quantity.ts";
import {
  type BillingMonth,
  billingMonth,
  isPeriod,
  lastEndedPeriod,
  type NextStatement,
  scheduledClose,
  shiftPeriod,
  type Statement,
  type StatementLine,
  type StatementTotal,
} from "../../domain/operator/statement.ts";
import { isoTime } from "../../domain/time.ts";
import type { Context, SessionContext } from "../context.ts";
import { invalidCursorError, type PageInput, readPage, requireIdCursor } from "../pages.ts";
import { operatorReader, statementReader } from "../reports/job_reader.ts";
import type { JobBytes } from "../reports/reports.ts";
import { parseLineCursor } from "../reports/jobs/statement_lines.ts";

/** Lists statements, newest first. @throws {AppError} `validation_failed` for an invalid cursor. */
export async function listStatements(
  { database, clock, config }: SessionContext,
  { limit, cursor }: PageInput,
): Promise<{ statements: Statement[]; next: NextStatement; nextCursor: string | null }> {
  requireIdCursor(cursor, "stm");
  const before = cursor === undefined ? undefined : await findStatement(database, cursor);
  if (cursor !== undefined && before === undefined) throw invalidCursorError();
  const { rows, nextCursor } = await readPage(
    (limit) => findStatements(database, { limit, before: before?.number }),
    { limit, cursorOf: ({ id }) => id },
  );
  const { period, start, end } = nextMonth(await findNewestStatement(database), {
    now: clock(),
    timezone: config.billingTimezone,
  });
  return {
    statements: rows.map(toStatement),
    next: { period, start: isoTime(start), end: isoTime(end), isEnded: end <= clock() },
    nextCursor,
  };
}

interface StatementLineFilter {
  readonly organizationId?: string | undefined;
}

/** Reads a statement with a page of lines. The first has the totals. @throws {AppError} `not_found`, `validation_failed`. */
export async function readStatement(
  context: SessionContext,
  actor: OperatorActor,
  { id, limit, cursor, organizationId, signal }: PageInput & StatementLineFilter & {
    id: string;
    signal: AbortSignal;
  },
): Promise<{
  statement: Statement;
  totals: StatementTotal[] | null;
  lines: StatementLine[];
  nextCursor: string | null;
}> {
  const row = await requireStatement(context, id);
  const after = cursor === undefined ? undefined : parseLineCursor(cursor);
  if (row.status === "closing") {
    return { statement: toStatement(row), totals: null, lines: [], nextCursor: null };
  }
  const query = { statement: row.number, organizationId, after, limit };
  const page = { query, now: context.clock() };
  const { rows, nextCursor, totals } = await context.reports.read("readStatementLines", page, {
    reader: operatorReader(actor),
    signal,
  });
  return {
    statement: toStatement(row),
    totals: totals?.map(({ lines, ...total }) => ({ ...toAmount(total), lines })) ?? null,
    lines: rows.map((line) => ({
      organizationId: line.organizationId,
      organizationName: line.organizationName,
      externalId: line.externalId,
      ...toAmount(line),
      adjustmentOf: line.monthsBack === 0 ? null : line.period,
    })),
    nextCursor,
  };
}

/**
 * Lists the newest statements with the quantity of an organization and metric: an exact decimal text, or null while the month is
 * being closed.
 *
 * @throws {AppError} `unavailable`.
 */
export async function listOrganizationStatements(
  { database, reports, clock }: SessionContext,
  actor: OperatorActor,
  { organizationId, metric, limit, signal }: {
    organizationId: string;
    metric: string | null;
    limit: number;
    signal: AbortSignal;
  },
) {
  const rows = await findStatements(database, { limit });
  const reader = operatorReader(actor);
  return await Promise.all(rows.map(async (row) => {
    const statement = toStatement(row);
    if (row.status === "closing") return { statement, quantity: null, hasAdjustments: false };
    const query = { statement: row.number, organizationId, after: undefined, limit: pageItemsDefault };
    const found = await reports.read("readStatementLines", { query, now: clock() }, { reader, signal });
    const totals = found.totals?.filter((total) => total.metric === metric) ?? [];
    return {
      statement,
      quantity: microsToDecimal(totals.reduce((sum, total) => sum + sumMicros(total), 0n)),
      // Products and metrics have one line for each month.
      hasAdjustments: totals.some(({ lines }) => lines > 1) ||
        found.rows.some((line) => line.metric === metric && line.monthsBack > 0),
    };
  }));
}

/** Returns the lines of a closed statement as CSV. @throws {AppError} `not_found`, `statement_not_closed`. */
export async function readStatementCsv(
  context: SessionContext,
  actor: OperatorActor,
  { id, signal, ...filter }: StatementLineFilter & { id: string; signal: AbortSignal },
): Promise<{ period: string; report: JobBytes }> {
  const { number, period, status } = await requireStatement(context, id);
  if (status === "closing") throw notClosedError(period);
  const query = { statement: number, ...filter };
  return {
    period,
    report: await context.reports.bytes("statementCsv", { period, query, now: context.clock() }, {
      reader: operatorReader(actor),
      signal,
    }),
  };
}

/**
 * Closes a month. Once begun, closing can't be undone, and it is completed in the background if it takes longer, or if the server
 * stops. A month that is already closed stays as it is.
 *
 * @param input `waitMs`: how long to wait for the end, in milliseconds.
 * @returns The statement, which may still be `closing`. `isNew`: false if it existed before.
 * @throws {AppError} `validation_failed`, `month_not_ended`, `statement_out_of_order`. As `writeAs`.
 */
export async function closeStatement(
  context: SessionContext,
  actor: OperatorActor,
  { period, waitMs }: { period: string; waitMs: number },
): Promise<{ statement: Statement; isNew: boolean }> {
  const { row, isNew } = await beginStatement(
    context,
    { period, actor },
    (batch) => context.writeAs(actor, batch),
  );
  if (row.status === "closed") return { statement: toStatement(row), isNew };
  // The month is being closed from now on, and the background work of any server continues after an error.
  const closing = completeStatement(context, row.id, (batch) => context.writeAs(actor, batch))
    .catch((error: unknown) => {
      if (error instanceof AppError && error.code !== "unavailable") return error;
      context.onBackgroundError(error);
      return undefined;
    });
  const { promise: timeout, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), waitMs);
  try {
    const closed = await Promise.race([closing, timeout]) ?? row;
    // The operator's credential has stopped working.
    if (closed instanceof AppError) throw closed;
    return { statement: toStatement(closed), isNew };
  } finally {
    clearTimeout(timer);
  }
}

const system: Actor = { type: "system", client: { address: "", userAgent: "", requestId: null } };

/**
 * Completes a statement that is still `closing`, or closes the next month if `STATEMENT_CLOSE_DAY` has come. Several servers can do
 * this at the same time.
 *
 * @returns The statement that was closed, or null.
 * @throws {AppError} `unavailable`.
 */
export async function closeDueStatement(context: Context): Promise<Statement | null> {
  const { database, config, clock } = context;
  const write = (batch: readonly SqlStatement[]) => database.write(batch);
  const newest = await findNewestStatement(database);
  if (newest?.status === "closing") return toStatement(await completeStatement(context, newest.id, write));
  const { statementCloseDay: closeDay } = config;
  if (closeDay === undefined) return null;
  const month = nextMonth(newest, { now: clock(), timezone: config.billingTimezone });
  if (scheduledClose(month, closeDay) > clock()) return null;
  const { row } = await beginStatement(context, { period: month.period, actor: system }, write);
  return toStatement(await completeStatement(context, row.id, write));
}

type Write = (batch: readonly SqlStatement[]) => Promise<readonly WriteResult[]>;

/** Returns the statement of a month, new or not. From now on, changes of the month are noted for the next statement. */
async function beginStatement(
  { database, config, clock }: Pick<SessionContext, "database" | "config" | "clock">,
  { period, actor }: { period: string; actor: Actor },
  write: Write,
): Promise<{ row: StatementRow; isNew: boolean }> {
  if (!isPeriod(period)) {
    throw validationError([{ path: "period", message: "must be a month such as 2026-10." }]);
  }
  for (;;) {
    // In this order: if another server begins the statement between the two reads, it is found by the second.
    const newest = await findNewestStatement(database);
    const existing = await findStatementOf(database, period);
    if (existing !== undefined) return { row: existing, isNew: false };
    const month = requireNextMonth(period, { newest, now: clock(), timezone: config.billingTimezone });
    const statement = { ...month, id: newId("stm"), number: (newest?.number ?? 0) + 1, createdAt: clock() };
    const entry = {
      action: "statement.closed",
      organizationId: null,
      target: { id: statement.id, name: period },
    } as const;
    const audit = insertAuditEvent(actor, entry, { now: clock() });
    const [inserted] = await write([insertStatement(statement), audit.statement]);
    if (inserted?.changes === 1) {
      return { row: { ...statement, status: "closing", progress: 0, closedAt: null }, isNew: true };
    }
    // Another server has begun one at the same time.
  }
}

function requireNextMonth(
  period: string,
  { newest, now, timezone }: { newest: StatementRow | undefined; now: number; timezone: string },
): BillingMonth {
  if (billingMonth(period, { timezone }).end > now) {
    throw new AppError("month_not_ended", `${period} has not ended yet in ${timezone}.`);
  }
  if (newest === undefined) return billingMonth(period, { timezone });
  if (newest.status === "closing") throw notClosedError(newest.period);
  const next = nextMonth(newest, { now, timezone });
  if (next.period === period) return next;
  throw new AppError("statement_out_of_order", `The next month to close is ${next.period}.`);
}

/** Without a statement so far, any month can be the first; the last one is suggested. */
function nextMonth(
  newest: StatementRow | undefined,
  { now, timezone }: { now: number; timezone: string },
): BillingMonth {
  return newest === undefined
    ? billingMonth(lastEndedPeriod(now, timezone), { timezone })
    : billingMonth(shiftPeriod(newest.period, 1), { timezone, before: newest });
}

/** Writes the remaining lines and closes the statement. It can be interrupted and repeated, even by several servers at the same time. */
async function completeStatement(
  { database, reports, clock }: Pick<SessionContext, "database" | "reports" | "clock">,
  id: string,
  write: Write,
): Promise<StatementRow> {
  for (;;) {
    const row = await findStatement(database, id);
    if (row === undefined) throw notFoundError();
    if (row.status === "closed") return row;
    const at = { number: row.number, progress: row.progress };
    const step = await reports.read("readStatementStep", { ...at, now: clock() }, {
      reader: statementReader,
    });
    if (step === null) {
      await write([finishStatement(at, clock())]);
      continue;
    }
    const inserts = step.lines.map((lines) => insertStatementLines(at, lines));
    for (const insert of inserts.slice(0, -1)) await write([insert]);
    await write([...inserts.slice(-1), ...moveStatementOn(at, step.through)]);
  }
}

async function requireStatement({ database }: SessionContext, id: string): Promise<StatementRow> {
  const row = isId("stm", id) ? await findStatement(database, id) : undefined;
  if (row === undefined) throw notFoundError();
  return row;
}

function notClosedError(period: string): AppError {
  return new AppError(
    "statement_not_closed",
    `The statement of ${period} is being closed. Try again when its status is closed.`,
  );
}

function toStatement(row: StatementRow): Statement {
  return {
    id: row.id,
    period: row.period,
    start: isoTime(row.start),
    end: isoTime(row.end),
    timezone: row.timezone,
    status: row.status,
    createdAt: isoTime(row.createdAt),
    closedAt: row.closedAt === null ? null : isoTime(row.closedAt),
  };
}

function toAmount(
  { productSlug, productName, metric, metricName, unit, ...row }: Omit<StatementTotalRow, "lines">,
) {
  const quantity = microsToDecimal(sumMicros(row));
  return { productSlug, productName, metric, metricName, unit, quantity, records: row.count };
}
