// CSV (RFC 4180) for spreadsheets.

/**
 * @returns A line with its end. A cell that a spreadsheet would take for a formula begins with an apostrophe (OWASP, CSV
 *   injection); one with a comma, a semicolon, a quote or a line end is quoted. Spreadsheets of many countries split lines
 *   at semicolons, and read the full-width signs as the plain ones.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r＝＋－＠]/.test(text) ? `'${text}` : text;
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
