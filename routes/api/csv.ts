// CSV (RFC 4180), made while it is read: however long it is, only a part of it is ever in memory.

/** What a table is made of. */
export interface CsvTable<T> {
  /** The names in the first line. */
  readonly columns: readonly string[];
  /** @returns The cells of a line. */
  readonly cellsOf: (item: T) => readonly string[];
}

/**
 * @param parts What the lines are about, in order. They are asked for as the reader takes them, and let go of when it goes
 *   away.
 * @returns UTF-8 with a line of names first.
 */
export function csvStream<T>(
  parts: AsyncGenerator<Iterable<T>>,
  { columns, cellsOf }: CsvTable<T>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(csvLine(columns)));
    },
    async pull(controller) {
      for (;;) {
        const { value, done } = await parts.next();
        if (done) return controller.close();
        let text = "";
        for (const item of value) text += csvLine(cellsOf(item));
        if (text !== "") return controller.enqueue(encoder.encode(text));
      }
    },
    async cancel() {
      await parts.return(undefined);
    },
  }, { highWaterMark: 0 });
}

/** Such an answer, for the OpenAPI document. */
export const csvAnswer = {
  description: "CSV (RFC 4180) with a line of names first.",
  contentType: "text/csv",
  headers: {
    "Content-Disposition": {
      description: "To save it under this name.",
      example: 'attachment; filename="usage-2026-11-01-2026-12-01.csv"',
    },
  },
} as const;

/** @returns The headers of an answer with CSV. @param file Its name. */
export function csvHeaders(file: string): Record<string, string> {
  return {
    "Content-Type": "text/csv; charset=utf-8; header=present",
    "Content-Disposition": `attachment; filename="${file}"`,
  };
}

/**
 * @returns A line with its end. A cell that a spreadsheet would take for a formula begins with an apostrophe (OWASP, CSV
 *   injection); one with a comma, a quote or a line end is quoted.
 */
function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
