// How operators search. The search indexes find parts of a text of at least three characters.
import { sql, type Statement } from "./engine/database.ts";

const indexedCharactersMin = 3;
/** The form of ids, which are searched as a whole and are in no index. */
const idForm = /^[a-z]{3}_[0-9a-f]{32}$/;

/**
 * Returns a condition on the hidden column of an index: the text is part of one of its columns. Null for an id, and for a text that
 * is too short for an index.
 */
export function indexedText(column: Statement, text: string): Statement | null {
  if ([...text].length < indexedCharactersMin || idForm.test(text)) return null;
  return sql`${column} MATCH ${`"${text.replaceAll('"', '""')}"`}`;
}

/** A condition: a short text is part of a column, in upper or lower case as far as it is ASCII. */
export function hasText(column: Statement, text: string): Statement {
  return sql`${column} LIKE ${`%${text.replaceAll(/[\\%_]/g, "\\$&")}%`} ESCAPE '\\'`;
}
