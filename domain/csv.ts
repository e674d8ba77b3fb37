// Writes CSV (RFC 4180) for spreadsheets.

/** A text for people; or a number in decimal notation, or an id, which stays as it is: programs join tables by ids. */
export type CsvCell = string | { readonly exact: string };

export function csvLine(cells: readonly CsvCell[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(cell: CsvCell): string {
  const text = typeof cell === "string" ? withoutFormulas(cell) : cell.exact;
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * An apostrophe keeps text from being run as a formula (OWASP, CSV injection). Spreadsheets also recognize full-width signs. Where
 * the decimal separator is a comma, they split lines at semicolons, also inside quotes.
 */
function withoutFormulas(text: string): string {
  return text.replaceAll(/^(?=[\t\r])|(?<=^|[;\t\r\n])(?=[=+\-@＝＋－＠])/g, "'");
}
