// Responses with CSV.

/** Such a response, for the OpenAPI document. */
export const csvResponse = {
  description: "CSV (RFC 4180) with a line of names first.",
  contentType: "text/csv",
  headers: {
    "Content-Disposition": {
      description: "To save it under this name.",
      example: 'attachment; filename="usage-2026-11-01-2026-12-01.csv"',
    },
  },
} as const;

/** @returns The headers of a response with CSV. @param file Its name. */
export function csvHeaders(file: string): Record<string, string> {
  return {
    "Content-Type": "text/csv; charset=utf-8; header=present",
    "Content-Disposition": `attachment; filename="${file}"`,
  };
}
