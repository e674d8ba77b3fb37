// Lists in pages. The cursor of a page names the last entry of the page before it.
import { type AppError, validationError } from "../domain/errors.ts";
import { type IdPrefix, isId } from "../domain/id.ts";

/** `cursor`: the `nextCursor` of the previous page. */
export interface PageInput {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** @throws {AppError} `validation_failed` for a cursor that is not an id of this kind. */
export function requireIdCursor(cursor: string | undefined, prefix: IdPrefix): void {
  if (cursor !== undefined && !isId(prefix, cursor)) throw invalidCursorError();
}

export function invalidCursorError(): AppError {
  return validationError([{ path: "cursor", message: "must be the “nextCursor” of a previous page." }]);
}

/** Reads a page, and one row more to know whether another page follows. `cursorOf`: the cursor after a row. */
export async function readPage<Row>(
  read: (limit: number) => Promise<Row[]>,
  { limit, cursorOf }: { limit: number; cursorOf: (row: Row) => string },
): Promise<{ rows: Row[]; nextCursor: string | null }> {
  const rows = await read(limit + 1);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { rows: page, nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : null };
}

/** Reads a page of rows by their ids. @throws {AppError} `validation_failed` for an invalid cursor. */
export async function readIdPage<Row extends { readonly id: string }>(
  read: (page: { limit: number; before: string | undefined }) => Promise<Row[]>,
  { prefix, limit, cursor }: PageInput & { readonly prefix: IdPrefix },
) {
  requireIdCursor(cursor, prefix);
  const cursorOf = ({ id }: Row) => id;
  return await readPage((limit) => read({ limit, before: cursor }), { limit, cursorOf });
}
