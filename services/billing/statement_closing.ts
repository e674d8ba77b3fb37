// Closing a month: by an operator, or by the schedule.
import { insertAuditEvent } from "../../db/access/mod.ts";
import type { Statement as SqlStatement, WriteResult } from "../../db/engine/database.ts";
import {
  findNewestStatement,
  findStatement,
  finishStatement,
  insertStatement,
  insertStatementLines,
  isCounting,
  moveStatementOn,
  type StatementRow,
} from "../../db/billing/statements.ts";
import { insertLineValues } from "../../db/billing/statement_values.ts";
import type { Actor, OperatorActor } from "../../domain/access/actor.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import {
  type BillingMonth,
  billingMonth,
  isPeriod,
  nextMonth,
  notClosedError,
  scheduledClose,
  type Statement,
} from "../../domain/billing/statement.ts";
import type { Context, SessionContext } from "../context.ts";
import { statementReader } from "../reports/job_reader.ts";
import { findMonthBefore, toStatement } from "./statements.ts";

/**
 * Closes a month. Once begun, closing can't be undone, and it is completed in the background if it takes longer, or if the server
 * stops. A month that is already closed stays as it is.
 *
 * @param input `waitMs`: how long to wait for the end, in milliseconds.
 * @returns The statement, which may still be `closing`. `isNew`: false if it existed before.
 * @throws {AppError} `validation_failed`, `month_not_ended`, `statement_out_of_order`, `unavailable`. As `writeAs`.
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
  const before = newest ?? await findMonthBefore(context);
  const month = nextMonth(before, { now: clock(), timezone: config.billingTimezone });
  if (scheduledClose(month, closeDay) > clock()) return null;
  const { row } = await beginStatement(context, { period: month.period, actor: system }, write);
  return toStatement(await completeStatement(context, row.id, write));
}

const beginTriesMax = 3;

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
  for (let tries = 0; tries < beginTriesMax; tries++) {
    // In this order: if another server begins the statement between the two reads, it is found by the second.
    const newest = await findNewestStatement(database);
    const existing = await findStatement(database, { period });
    if (existing !== undefined) return { row: existing, isNew: false };
    const month = requireNextMonth(period, { newest, now: clock(), timezone: config.billingTimezone });
    const statement = {
      ...month,
      id: newId("stm"),
      number: (newest?.number ?? 0) + 1,
      currency: config.currency,
      createdAt: clock(),
    };
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
    if (await isCounting(database, month.end)) {
      throw unavailableError(
        "The aggregation of a metric was changed, and earlier usage isn't counted yet. Try again in a few minutes.",
      );
    }
    // Another server has begun one at the same time.
  }
  throw unavailableError("A month is being closed by another server. Try again in a few minutes.");
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

/** Writes the remaining lines and closes the statement. It can be interrupted and repeated, even by several servers at the same time. */
async function completeStatement(
  { database, reports, clock }: Pick<SessionContext, "database" | "reports" | "clock">,
  id: string,
  write: Write,
): Promise<StatementRow> {
  for (;;) {
    const row = await findStatement(database, { id });
    if (row === undefined) throw notFoundError();
    if (row.status === "closed") return row;
    const at = { number: row.number, progress: row.progress };
    const step = await reports.read("readStatementStep", { ...at, now: clock() }, {
      reader: statementReader,
    });
    if (step === null) {
      await write(finishStatement(row, clock()));
      continue;
    }
    const inserts = [
      ...step.lines.map((lines) => insertStatementLines(at, lines)),
      ...step.values.map((values) => insertLineValues(at, values)),
    ];
    for (const insert of inserts.slice(0, -1)) await write([insert]);
    await write([...inserts.slice(-1), ...moveStatementOn(at, step.through)]);
  }
}
