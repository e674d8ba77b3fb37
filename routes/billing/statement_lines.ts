// One organization's part of a statement, for the pages of its members and of operators.
import { pageItemsDefault, pageItemsMax, statementWaitMs } from "../../domain/limits.ts";
import { shiftPeriod, type Statement } from "../../domain/billing/statement.ts";
import { readStatement, type StatementScope } from "../../services/billing/mod.ts";
import type { LinesBefore, OrganizationLines } from "../../views/billing/statement.tsx";
import { lineName } from "../../views/billing/statement_lines.tsx";
import type { AppContext } from "../env.ts";
import { ifFound, inTime } from "../portal/in_time.ts";
import type { PortalParts } from "../portal/page.ts";

interface ShownLines {
  readonly shown: OrganizationLines | null;
  readonly before: LinesBefore | null;
  readonly nextCursor: string | null;
}

/** Reads a page of lines, and last month's for comparison. Without lines if reports are busy. @throws {AppError} `not_found`. */
export async function readShownLines(
  parts: PortalParts,
  scope: StatementScope,
  { statement, cursor, limit = pageItemsDefault }: {
    statement: Statement;
    cursor?: string | undefined;
    limit?: number;
  },
): Promise<ShownLines> {
  if (statement.status === "closing") return { shown: null, before: null, nextCursor: null };
  const [found, before] = await Promise.all([
    inTime(
      (signal) => readStatement(parts.services, scope, { id: statement.period, limit, cursor, signal }),
      statementWaitMs,
    ),
    readBefore(parts, scope, shiftPeriod(statement.period, -1)),
  ]);
  return found === null
    ? { shown: null, before, nextCursor: null }
    : { shown: found, before, nextCursor: found.nextCursor };
}

/** Returns null for a month that was never closed, and for one with more lines than are compared. */
async function readBefore(
  { services }: PortalParts,
  scope: StatementScope,
  period: string,
): Promise<LinesBefore | null> {
  const query = { id: period, limit: pageItemsMax, cursor: undefined };
  const found = await ifFound(() => inTime((signal) => readStatement(services, scope, { ...query, signal })));
  if (found === null || found.statement.status !== "closed" || found.nextCursor !== null) return null;
  const { statement: { currency }, amount, lines } = found;
  const own = lines.filter(({ adjustmentOf }) => adjustmentOf === null);
  const quantities = new Map(own.map((line) => [lineName(line), line.quantity]));
  return { period, amount, currency, quantities };
}

/** Returns the cursor in the address; undefined for the first page. */
export function cursorOf(c: AppContext): string | undefined {
  return c.req.query("cursor") || undefined;
}
