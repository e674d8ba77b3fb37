// Quotes texts for commands that people copy.

/**
 * Quotes a text as one word of a shell command.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.equal(shellWord("/srv/data"), "/srv/data");
 * assert.equal(shellWord("it's"), "'it'\\''s'");
 * ```
 */
export function shellWord(text: string): string {
  return /^[\w./@+][\w./@+-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
