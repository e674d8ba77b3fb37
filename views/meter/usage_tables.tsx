// Tables of what products, keys or organizations used: total, share and change.
import type { CatalogueMetric, SeriesColor } from "../../domain/meter/catalogue.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { Badge } from "../components/badge.tsx";
import { Card } from "../components/card.tsx";
import { ShortChange } from "../components/change.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { Quantity } from "../components/quantity.tsx";
import { Share } from "../components/share.tsx";
import { Sparkline } from "../components/sparkline.tsx";
import { Cell, LinkedName, Name, Row, Table } from "../components/table.tsx";

interface BreakdownLine {
  readonly name: string;
  /** Null for usage without a key. */
  readonly href: string | null;
  /** A state that stands out, such as `Revoked`. */
  readonly state?: string | null;
  /** That of its bars in the chart. */
  readonly color?: SeriesColor;
  /** The last 30 days, today last; undefined to leave it out. */
  readonly trend?: readonly number[];
  /** A decimal text. */
  readonly sum: string;
  /** Percent of the total; null if the total is 0. */
  readonly share: number | null;
  /** In percent; null if nothing was used before. */
  readonly change: number | null;
}

export interface BreakdownProps {
  readonly title: string;
  /** The subject of a line, such as `Product`. */
  readonly column: string;
  readonly measure: CatalogueMetric;
  /** The time that changes are compared with. */
  readonly period: string;
  readonly lines: readonly BreakdownLine[];
  /** The number of lines on all pages, and the other pages. */
  readonly all: number;
  readonly newerHref: string | null;
  readonly olderHref: string | null;
}

export function Breakdown(props: BreakdownProps) {
  const { title, column, measure, period, lines, all } = props;
  const hasTrends = lines.some(({ trend }) => trend !== undefined);
  const columns = [
    column,
    ...(hasTrends ? [{ title: "30 days", drop: 2 as const }] : []),
    { title: "Total", isNumber: true },
    "Share",
    { title: "Change", isNumber: true },
  ];
  const aside = (
    <span class="muted small">
      <bdi>{measure.name}</bdi>, vs {period}
    </span>
  );
  return (
    <Card title={title} aside={aside} flush>
      <Table label={title} columns={columns} kind="breakdown">
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
            {hasTrends && (
              <Cell drop={2}>
                {line.trend && <Sparkline values={line.trend} />}
              </Cell>
            )}
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
      {props.newerHref === null && props.olderHref === null ? null : (
        <footer class="list-foot">
          <span>{`${groupDigits(all)} in all`}</span>
          <PageLinks
            label={`Pages of ${title}`}
            links={[{ href: props.newerHref, label: "Previous" }, { href: props.olderHref, label: "Next" }]}
          />
        </footer>
      )}
    </Card>
  );
}
