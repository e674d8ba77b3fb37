// One organization's part of a statement, for the pages of its members and of operators.
import { pageItemsDefault, pageItemsMax, statementWaitMs } from "../../domain/limits.ts";
import { sameDays } from "../../domain/billing/forecast.ts";
import { metricKey, shiftPeriod, type Statement } from "../../domain/billing/statement.ts";
import { readStatement, readUsageOfDays, type StatementScope } from "../../services/billing/mod.ts";
import type { LinesBefore } from "../../views/billing/statement.tsx";
import { isRunning } from "../../views/billing/statement_text.ts";
import type { AppContext } from "../env.ts";
import { ifFound, inTime } from "../portal/in_time.ts";
import type { PortalParts } from "../portal/page.ts";

/** Reads a page of lines, and those of last month, or of as many of its days, for comparison. Without lines if reports are busy. @throws {AppError} `not_found`. */
export async function readShownLines(
  parts: PortalParts,
  scope: StatementScope,
  { statement, cursor, limit = pageItemsDefault }: {
    statement: Statement;
    cursor?: string | undefined;
    limit?: number;
  },
) {
  if (statement.status === "closing") return { shown: null, before: null, nextCursor: null };
  const [found, before] = await Promise.all([
    inTime(
      (signal) => readStatement(parts.services, scope, { id: statement.period, limit, cursor, signal }),
      statementWaitMs,
    ),
    readBefore(parts, scope, statement),
  ]);
  return found === null
    ? { shown: null, before, nextCursor: null }
    : { shown: found, before, nextCursor: found.nextCursor };
}

/** Returns null if there is nothing to compare with. */
async function readBefore(
  parts: PortalParts,
  scope: StatementScope,
  statement: Statement,
): Promise<LinesBefore | null> {
  const now = parts.services.clock();
  if (!isRunning(statement, now)) return await readMonthBefore(parts, scope, statement);
  const days = sameDays(statement, now);
  const [whole, part] = await Promise.all([
    readMonthBefore(parts, scope, statement),
    inTime((signal) => readUsageOfDays(parts.services, scope, { days, signal })),
  ]);
  const period = shiftPeriod(statement.period, -1);
  const hasUsage = part !== null && part.quantities.size > 0;
  return hasUsage ? { ...part, period, days, wholeAmount: whole?.amount ?? null } : null;
}

/** Returns null for a month that was never closed, and for one with more lines than are compared. */
async function readMonthBefore(
  { services }: PortalParts,
  scope: StatementScope,
  { period: next, currency }: Statement,
): Promise<LinesBefore | null> {
  const period = shiftPeriod(next, -1);
  const query = { id: period, limit: pageItemsMax, cursor: undefined };
  const found = await ifFound(() => inTime((signal) => readStatement(services, scope, { ...query, signal })));
  if (found === null || found.statement.status !== "closed" || found.nextCursor !== null) return null;
  const own = found.lines.filter(({ adjustmentOf }) => adjustmentOf === null);
  const amount = found.statement.currency === currency ? found.amount : null;
  const quantities = new Map(own.map((line) => [metricKey(line), line.quantity]));
  return { period, days: null, amount, wholeAmount: amount, quantities };
}

/** Returns the cursor in the address; undefined for the first page. */
export function cursorOf(c: AppContext): string | undefined {
  return c.req.query("cursor") || undefined;
}
