// Writes CSV (RFC 4180) for spreadsheets.

/** A text, or a number in decimal notation, which may be negative. */
type CsvCell = string | { readonly decimal: string };

export function csvLine(cells: readonly CsvCell[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(cell: CsvCell): string {
  return typeof cell === "string" ? csvText(cell) : cell.decimal;
}

function csvText(text: string): string {
  // An apostrophe keeps cells from being run as formulas (OWASP, CSV injection). Spreadsheets also recognize full-width signs.
  const safe = /^[=+\-@\t\r＝＋－＠]/.test(text) ? `'${text}` : text;
  // In many countries, the separator is a semicolon.
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
