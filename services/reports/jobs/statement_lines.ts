// Lines of statements and of open months, read by the reports thread.
import type { StatementLinePosition } from "../../../db/operator/statements.ts";
import type { StatementLine, StatementTotal, StatementVoid } from "../../../domain/operator/statement.ts";
import { invalidCursorError } from "../../pages.ts";
import type { JobContext, JobTime } from "../job_context.ts";
import type { StatementMonth } from "./statement_charges.ts";

export interface StatementPart extends JobTime {
  readonly month: StatementMonth;
  readonly organizationId: string | undefined;
}

/** Reads a page of lines, and with the first page the totals. */
export function readStatementLines(
  _context: JobContext,
  _input: StatementPart & { after: StatementLinePosition | undefined; limit: number },
): Promise<{
  totals: StatementTotal[] | null;
  amount: string | null;
  voided: StatementVoid[] | null;
  lines: StatementLine[];
  nextCursor: string | null;
}> {
  return Promise.resolve({ totals: null, amount: null, voided: null, lines: [], nextCursor: null });
}

/** Returns the position that a cursor names. @throws {AppError} `validation_failed` for an invalid cursor. */
export function parseLineCursor(cursor: string): StatementLinePosition {
  const [, organizationId, monthsBack, productSlug, metric] =
    /^(org_[0-9a-f]{32})~(\d{1,4})~([^~]+)~([^~]+)$/.exec(cursor) ?? [];
  if (organizationId === undefined || productSlug === undefined || metric === undefined) {
    throw invalidCursorError();
  }
  return { organizationId, monthsBack: Number(monthsBack), productSlug, metric };
}

export function statementCsv(_context: JobContext, _input: StatementPart): Promise<Uint8Array<ArrayBuffer>> {
  return Promise.resolve(new Uint8Array());
}
