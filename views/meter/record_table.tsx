// Usage records as a table, in the portal and in the console.
import type { Child } from "hono/jsx";
import { type Catalogue, metricOf, productOf } from "../../domain/meter/catalogue.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { Badge } from "../components/badge.tsx";
import { MomentTime } from "../components/relative_time.tsx";
import { Cell, Row, Table } from "../components/table.tsx";
import { type Measure, measureNoun } from "../text/quantity.ts";
import { exactTimeIn, zoneWords } from "../text/zone.ts";

/** Stands where a record without a key would name its key. */
export const operatorRecordsName = "Recorded by the operator";

/** A record. */
export interface UsageRecordRow {
  readonly id: string;
  /** ISO 8601 UTC. */
  readonly timestamp: string;
  readonly productSlug: string;
  readonly metric: string;
  /** A number or a decimal string. */
  readonly quantity: number | string;
  /** The name of its key, as a link if there is a page; null if an operator recorded it. */
  readonly apiKey: Child;
  /** When, by which key and why it was voided; null if it counts. `voidedByName` is null for an operator. */
  readonly voidedAt: string | null;
  readonly voidedByName: string | null;
  readonly voidReason: string | null;
}

/** What {@linkcode RecordTable} shows. */
export interface RecordTableProps {
  readonly label: string;
  readonly records: readonly UsageRecordRow[];
  /** Milliseconds since 1970. */
  readonly now: number;
  /** An IANA name. */
  readonly timezone: string;
  /** Names products and metrics; without it, they are shown by their slugs. */
  readonly catalogue?: Catalogue;
  /** The page of a record, if there is one. */
  readonly recordHref?: (id: string) => string;
  /** The page that voids a record, if there is one. */
  readonly voidHref?: (id: string) => string;
}

/** @returns The page of a record in the portal. */
export function recordHref(id: string): string {
  return `/portal/usage/records/${encodeURIComponent(id)}`;
}

/** Records in the given order. */
export function RecordTable(props: RecordTableProps) {
  const { label, records, now, timezone, catalogue, recordHref, voidHref } = props;
  const columns = [
    `Time, ${zoneWords(timezone)}`,
    "Product",
    "Metric",
    { title: "Quantity", isNumber: true },
    "API key",
    "Status",
  ];
  return (
    <Table label={label} columns={columns} kind="cards">
      {records.map((record) => {
        const metric = catalogue && metricOf(catalogue, record.metric);
        const time = <MomentTime at={record.timestamp} now={now} timezone={timezone} />;
        return (
          <Row>
            <Cell place="title">
              {recordHref === undefined ? time : <a class="name" href={recordHref(record.id)}>{time}</a>}
            </Cell>
            <Cell place="start" value={<Product slug={record.productSlug} catalogue={catalogue} />} />
            <Cell isOffCard value={<bdi>{metric?.name ?? record.metric}</bdi>} />
            <Cell place="total" isNumber>
              <Quantity {...record} measure={metric ?? { name: record.metric, unit: null }} />
            </Cell>
            <Cell place="start" value={record.apiKey ?? <span class="muted">{operatorRecordsName}</span>} />
            <Cell place="end">
              <RecordStatus {...record} timezone={timezone} />
              {voidHref && record.voidedAt === null && (
                <>
                  {" "}
                  <a class="small" href={voidHref(record.id)}>Void</a>
                </>
              )}
            </Cell>
          </Row>
        );
      })}
    </Table>
  );
}

function Product({ slug, catalogue }: { slug: string; catalogue: Catalogue | undefined }) {
  if (catalogue === undefined) return <bdi>{slug}</bdi>;
  const { name, color } = productOf(catalogue, slug);
  return (
    <span class="with-swatch">
      <span class={`swatch series-${color}`} aria-hidden="true"></span>
      <bdi>{name}</bdi>
    </span>
  );
}

function Quantity({ quantity, measure, voidedAt }: UsageRecordRow & { measure: Measure }) {
  const number = groupDigits(quantity);
  return (
    <>
      {voidedAt === null ? <span class="name">{number}</span> : <s class="muted">{number}</s>}
      {measure.unit && (
        <span class="muted">
          {" "}
          <bdi>{measure.unit}</bdi>
        </span>
      )}
      <span class="on-card">
        {measure.unit ? " of " : " "}
        <bdi>{measureNoun(measure)}</bdi>
      </span>
    </>
  );
}

/** Whether a record counts and, if not, who voided it and why. */
export function RecordStatus(
  { voidedAt, voidedByName, voidReason, timezone }:
    & Pick<UsageRecordRow, "voidedAt" | "voidedByName" | "voidReason">
    & { timezone: string },
) {
  if (voidedAt === null) return <Badge tone="on">Counted</Badge>;
  return (
    <span class="state-words" title={`Voided on ${exactTimeIn(Date.parse(voidedAt), timezone)}`}>
      <Badge tone="off">Voided</Badge>
      <span class="tiny">
        by {voidedByName === null ? "the operator" : <bdi>{voidedByName}</bdi>}: <bdi>{voidReason}</bdi>
      </span>
    </span>
  );
}
