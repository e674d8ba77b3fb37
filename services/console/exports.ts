// Everything that was recorded and billed, oldest first, for other systems. A cursor stays valid: what is recorded or closed later
// comes after it, because both are numbered in the transaction that writes them.
import {
  findLastUsageRecord,
  findRecordIdKey,
  findUsageRecordAfter,
  findUsageRecordsAfter,
  type RecordOfOrganization,
} from "../../db/meter/mod.ts";
import {
  findStatement,
  findStatementLines,
  type StatementLinePosition,
  type StatementRow,
} from "../../db/billing/mod.ts";
import { exportPageItems } from "../../domain/transfer_limits.ts";
import { validationError } from "../../domain/errors.ts";
import { lineValuesShownMax } from "../../domain/meter/dimension.ts";
import { microsToDecimal, quantityMicros } from "../../domain/meter/quantity.ts";
import { toUsageRecord } from "../../domain/meter/usage_record.ts";
import { createUsageRecordIds, type UsageRecordIds } from "../../domain/meter/usage_record_id.ts";
import { lineCursor, parseLineCursor, toLine, withDimensions } from "../billing/jobs/mod.ts";
import type { BaseContext } from "../base_context.ts";

type Reader = Pick<BaseContext, "database">;

/**
 * Reads records in the order of recording, voided ones included, as they are now.
 *
 * @param since A cursor. @throws {AppError} `validation_failed` if it isn't one. @yields Pages.
 */
export async function* exportRecords({ database }: Reader, since?: string) {
  const ids = createUsageRecordIds(await findRecordIdKey(database));
  let seq = since === undefined ? 0 : await recordCursor(database, { ids, since });
  for (;;) {
    const rows = await findUsageRecordsAfter(database, { seq, limit: exportPageItems });
    if (rows.length === 0) return;
    yield rows.filter(({ isDeleted }) => !isDeleted).map((row) => exportedRecord(row, ids));
    seq = rows.at(-1)?.seq ?? seq;
  }
}

function exportedRecord(row: RecordOfOrganization, ids: UsageRecordIds) {
  const { id, ...record } = toUsageRecord(row, ids, { isForOperators: true });
  const { organizationId, externalId } = row;
  return {
    ...{ cursor: id, id, organizationId, externalId },
    ...record,
    // A number may not hold all digits.
    quantity: microsToDecimal(quantityMicros(row)),
  };
}

async function recordCursor(
  database: Reader["database"],
  { ids, since }: { ids: UsageRecordIds; since: string },
): Promise<number> {
  const reference = ids.parse(since);
  // The record itself may have been deleted by retention.
  const isPast = reference !== null && reference.seq <= await findLastUsageRecord(database);
  const at = isPast ? await findUsageRecordAfter(database, reference.seq - 1) : undefined;
  if (!isPast || (at?.seq === reference.seq && at.recordedAt !== reference.recordedAt)) throw cursorError();
  return reference.seq;
}

/**
 * Reads the lines of closed statements, which never change.
 *
 * @param since A cursor. @throws {AppError} `validation_failed` if it isn't one. @yields Pages.
 */
export async function* exportStatements({ database }: Reader, since?: string) {
  let after: StatementLinePosition | undefined;
  let number = 0;
  if (since !== undefined) {
    const [, period = "", position = ""] = /^(\d{4}-\d\d)~(.+)$/.exec(since) ?? [];
    const statement = await findStatement(database, { period });
    if (statement?.status !== "closed") throw cursorError();
    after = parseLineCursor(position, statement);
    number = statement.number - 1;
  }
  for (;;) {
    const statement = await findStatement(database, { after: number });
    if (statement?.status !== "closed") return;
    const rows = await findStatementLines(database, {
      ...{ statement: statement.number, after, limit: exportPageItems },
    });
    const split = { statement: statement.number, valuesMax: lineValuesShownMax };
    yield (await withDimensions(database, rows, split)).map((row) => exportedLine(row, statement));
    after = rows.at(-1);
    if (after === undefined) number = statement.number;
  }
}

function exportedLine(row: Parameters<typeof toLine>[0], statement: StatementRow) {
  const { period, currency } = statement;
  return { cursor: `${period}~${lineCursor(row, statement)}`, period, currency, ...toLine(row, statement) };
}

function cursorError() {
  return validationError([{ path: "since", message: "must be the cursor of a line of this export." }]);
}
