// Jobs of the reports thread on statements. They only read.
export { lineCursor, parseLineCursor, toLine } from "./statement_lines.ts";
export { withDimensions } from "./statement_values.ts";
