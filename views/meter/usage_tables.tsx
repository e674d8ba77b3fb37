// The table of what products, keys, organizations or values of a property used: total, share and change.
import type { CatalogueMetric, SeriesColor } from "../../domain/meter/catalogue.ts";
import { Badge } from "../components/badge.tsx";
import { ShortChange } from "../components/change.tsx";
import { Quantity } from "../components/quantity.tsx";
import { Share } from "../components/share.tsx";
import { Cell, LinkedName, Name, Row, Table } from "../components/table.tsx";

interface BreakdownLine {
  readonly name: string;
  /** Null for usage without a key. */
  readonly href: string | null;
  /** A state that stands out, such as `Revoked`. */
  readonly state?: string | null;
  /** That of its bars in the chart. */
  readonly color?: SeriesColor;
  /** A decimal text. */
  readonly sum: string;
  /** Percent of the total; null if the total is 0. */
  readonly share: number | null;
  /** In percent; null if nothing was used before. */
  readonly change: number | null;
}

export interface BreakdownProps {
  /** The subject of a line, such as `Product`. */
  readonly column: string;
  readonly measure: CatalogueMetric;
  readonly lines: readonly BreakdownLine[];
  /** The number of lines on all pages, and the other pages. */
  readonly all: number;
  readonly newerHref: string | null;
  readonly olderHref: string | null;
}

export function Breakdown(
  { column, measure, lines }: Pick<BreakdownProps, "column" | "measure" | "lines">,
) {
  const columns = [column, { title: "Total", isNumber: true }, "Share", { title: "Change", isNumber: true }];
  return (
    <Table label={column} columns={columns} kind="breakdown">
      {lines.map((line) => (
        <Row>
          <Cell place="title">
            <div class="with-swatch">
              {line.color === undefined
                ? null
                : <span class={`swatch series-${line.color}`} aria-hidden="true"></span>}
              {line.href === null
                ? <Name text={line.name} />
                : <LinkedName href={line.href} name={line.name} />}
              {line.state && <Badge tone="off">{line.state}</Badge>}
            </div>
          </Cell>
          <Cell place="total" isNumber>
            <Quantity value={line.sum} measure={measure} />
          </Cell>
          <Cell place="start">
            <Share percent={line.share} color={line.color} />
          </Cell>
          <Cell place="end" isNumber>
            <ShortChange percent={line.change} />
          </Cell>
        </Row>
      ))}
    </Table>
  );
}
