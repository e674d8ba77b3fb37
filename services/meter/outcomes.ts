// Reading the last rejected requests with API keys of an organization.
import { findRejections, type OutcomeFilter } from "../../db/meter/request_outcomes.ts";
import type { Rejection } from "../../domain/meter/outcome.ts";
import type { Access } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { invalidCursorError, type PageInput, readPage } from "../pages.ts";
import { usageScope } from "./usage_access.ts";

/** Lists the last rejections of an organization's keys, the newest first. @throws {AppError} `forbidden`, `validation_failed`. */
export async function listRejections(
  context: SessionContext,
  access: Access,
  { limit, cursor, ...filter }: PageInput & OutcomeFilter,
): Promise<{ rejections: Rejection[]; nextCursor: string | null }> {
  const { organizationId } = usageScope(context, access);
  const before = cursor === undefined ? null : parseCursor(cursor);
  const { rows, nextCursor } = await readPage(
    (limit) => findRejections(context.database, organizationId, { ...filter, before, limit }),
    { limit, cursorOf: ({ time, requestId }) => `${Date.parse(time)}_${requestId}` },
  );
  return { rejections: rows, nextCursor };
}

function parseCursor(cursor: string) {
  const [, at, requestId] = /^(\d{1,15})_(\w{0,100})$/.exec(cursor) ?? [];
  if (at === undefined || requestId === undefined) throw invalidCursorError();
  return { at: Number(at), requestId };
}
