// Writes CSV (RFC 4180) for spreadsheets.

/**
 * Formats a line of CSV. Cells that look like formulas get an apostrophe (OWASP, CSV injection); spreadsheets also recognize
 * full-width signs. Cells with a separator, quote or line end are quoted; in many countries, the separator is a semicolon.
 *
 * @returns The line with its line end.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r＝＋－＠]/.test(text) ? `'${text}` : text;
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
