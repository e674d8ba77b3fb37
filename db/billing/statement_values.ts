// The SQL of statement lines by the values of dimensions.
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import type {
  NewStatementLine,
  OrganizationMonth,
  StatementLineRow,
  StatementProgress,
} from "./statements.ts";
import { isAt } from "./statements.ts";

/** Usage with some values: of each property of a dimension, one. */
export interface ValuePart {
  readonly values: readonly string[];
  readonly count: number;
  readonly micros: bigint;
}

/** The usage of a line by the values of a dimension. */
export interface LineParts {
  /** JSON: the names of its properties. */
  readonly names: string;
  /** The largest first. They add up to the line. */
  readonly parts: readonly ValuePart[];
}

export type SplitLine = NewStatementLine & {
  readonly dimensions: readonly LineParts[];
};

const encodeParts = (parts: readonly ValuePart[]): string =>
  JSON.stringify(parts.map(({ values, count, micros }) => [values, count, String(micros)]));

function decodeParts(text: string): ValuePart[] {
  const parts: [string[], number, string][] = JSON.parse(text);
  return parts.map(([values, count, micros]) => ({ values, count, micros: BigInt(micros) }));
}

/** Encodes what lines have by values: at most about `sizeMax` characters in each text. */
export function encodeLineValues(lines: readonly SplitLine[], sizeMax: number): string[] {
  const texts: string[] = [];
  let [rows, size]: [string[], number] = [[], 0];
  const end = () => {
    if (rows.length > 0) texts.push(`[${rows.join(",")}]`);
    [rows, size] = [[], 0];
  };
  for (const { dimensions, ...line } of lines) {
    for (const { names, parts } of dimensions) {
      const { organization, monthsBack, productSlug, metric, count, high, low, micro } = line;
      const row = JSON.stringify([
        ...[organization, monthsBack, productSlug, metric, count, high, low, micro],
        ...[names, encodeParts(parts)],
      ]);
      if (size + row.length > sizeMax) end();
      rows.push(row);
      size += row.length;
    }
  }
  end();
  return texts;
}

/** Inserts what lines have by values. If another server has written another line, its own are inserted by it, and these aren't. */
export function insertLineValues(at: StatementProgress, encoded: string): Statement {
  return sql`INSERT INTO statement_line_values (statement, organization_id, months_back, product_slug, metric, names, parts)
    SELECT l.statement, l.organization_id, l.months_back, l.product_slug, l.metric, e.value ->> 8, e.value ->> 9
    FROM json_each(${encoded}) e CROSS JOIN organizations o ON o.number = e.value ->> 0
    CROSS JOIN statement_lines l ON l.statement = ${at.number} AND l.organization_id = o.id
      AND l.months_back = e.value ->> 1 AND l.product_slug = e.value ->> 2 AND l.metric = e.value ->> 3
    WHERE l.count = e.value ->> 4 AND l.sum_high = CAST(e.value ->> 5 AS INTEGER)
      AND l.sum_low = CAST(e.value ->> 6 AS INTEGER) AND l.sum_micro = CAST(e.value ->> 7 AS INTEGER)
      AND ${isAt(at)} ON CONFLICT DO NOTHING`;
}

/** Returns what some lines of a statement have by values, by their position in the list. */
export async function findLineParts(
  database: DatabaseReader,
  { statement, lines }: { statement: number; lines: readonly StatementLineRow[] },
): Promise<ReadonlyMap<number, LineParts[]>> {
  const keys = lines.map((line) => [line.organizationId, line.monthsBack, line.productSlug, line.metric]);
  const rows = await database.read<{ position: number; names: string; parts: string }>(sql`
    SELECT k.key AS position, v.names, v.parts FROM json_each(${JSON.stringify(keys)}) k
    CROSS JOIN statement_line_values v ON v.statement = ${statement} AND v.organization_id = k.value ->> 0
      AND v.months_back = k.value ->> 1 AND v.product_slug = k.value ->> 2 AND v.metric = k.value ->> 3
    ORDER BY 1, 2`);
  const found = rows.map(({ parts, ...row }) => ({ ...row, parts: decodeParts(parts) }));
  return Map.groupBy(found, ({ position }) => position);
}

interface BilledParts extends OrganizationMonth, LineParts {
  readonly productSlug: string;
  readonly metric: string;
}

/** Returns earlier statements' lines for some months by values. */
export async function findBilledValues(
  database: DatabaseReader,
  { statement, months }: { statement: number; months: readonly OrganizationMonth[] },
): Promise<BilledParts[]> {
  const pairs = months.map(({ organization, month }) => [organization, month]);
  const rows = await database.read<Omit<BilledParts, "parts"> & { readonly parts: string }>(sql`
    SELECT o.number AS organization, c.value ->> 1 AS month, v.product_slug AS productSlug, v.metric, v.names, v.parts
    FROM json_each(${JSON.stringify(pairs)}) c CROSS JOIN organizations o ON o.number = c.value ->> 0
    CROSS JOIN statements t ON t.number >= c.value ->> 1 AND t.number < ${statement}
    CROSS JOIN statement_line_values v ON v.statement = t.number AND v.organization_id = o.id
      AND v.months_back = t.number - (c.value ->> 1)`);
  return rows.map(({ parts, ...row }) => ({ ...row, parts: decodeParts(parts) }));
}
