// Usage records as a table.
import { recordHref } from "../components/links.ts";
import { type Catalogue, metricOf, productOf } from "../../domain/meter/catalogue.ts";
import type { NamedUsageRecord } from "../../domain/meter/usage_record.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { Badge } from "../components/badge.tsx";
import { KeyName } from "../components/key_name.tsx";
import { MomentTime } from "../components/relative_time.tsx";
import { Cell, type Column, Row, Table } from "../components/table.tsx";
import type { PortalFrame } from "../layout.tsx";
import { type Measure, measureNoun, thingsOf } from "../text/quantity.ts";
import { exactTimeIn, zoneWords } from "../text/zone.ts";

/** Stands where a record without a key would name its key. */
export const operatorRecordsName = "Recorded by the operator";

export function RecordTable({ label, records, frame, timezone, catalogue }: {
  label: string;
  records: readonly NamedUsageRecord[];
  frame: PortalFrame;
  timezone: string;
  catalogue: Catalogue;
}) {
  const columns: readonly (string | Column)[] = [
    `Time, ${zoneWords(timezone)}`,
    "Product",
    "Metric",
    { title: "Quantity", isNumber: true, place: "total" },
    "API key",
    "Status",
  ];
  return (
    <Table label={label} columns={columns} kind="cards">
      {records.map((record) => {
        const { id, timestamp, voidedAt } = record;
        const measure = metricOf(catalogue, record.metric);
        return (
          <Row>
            <Cell place="title">
              <a class="name" href={recordHref(frame.base, id)}>
                <MomentTime at={timestamp} now={frame.now} timezone={timezone} />
              </a>
            </Cell>
            <Cell place="start" value={<Product slug={record.productSlug} catalogue={catalogue} />} />
            <Cell isOffCard value={<bdi>{measure.name}</bdi>} />
            <Cell place="total" isNumber>
              <Quantity {...record} measure={measure} />
            </Cell>
            <Cell place="start" value={<RecordKey record={record} frame={frame} />} />
            <Cell place="end">
              <RecordStatus {...record} timezone={timezone} />
              {frame.viewed !== null && voidedAt === null && (
                <>
                  {" "}
                  <a class="small" href={recordHref(frame.base, id, "void")}>Void</a>
                </>
              )}
            </Cell>
          </Row>
        );
      })}
    </Table>
  );
}

export function RecordKey({ record, frame }: { record: NamedUsageRecord; frame: PortalFrame }) {
  const { apiKeyId, apiKeyName, apiKeyCreatedBy, environment } = record;
  if (apiKeyId === null || apiKeyName === null) return <span class="muted">{operatorRecordsName}</span>;
  const key = { id: apiKeyId, name: apiKeyName, createdBy: apiKeyCreatedBy, environment };
  return <KeyName {...key} frame={frame} />;
}

function Product({ slug, catalogue }: { slug: string; catalogue: Catalogue }) {
  const { name, color } = productOf(catalogue, slug);
  return (
    <span class="with-swatch">
      <span class={`swatch series-${color}`} aria-hidden="true"></span>
      <bdi>{name}</bdi>
    </span>
  );
}

function Quantity({ quantity, measure, voidedAt }: NamedUsageRecord & { measure: Measure }) {
  const number = groupDigits(quantity);
  return (
    <>
      {voidedAt === null ? <span class="name">{number}</span> : <s class="muted">{number}</s>}
      {measure.unit && (
        <span class="muted">
          {" "}
          <bdi>{thingsOf(number, measure.unit)}</bdi>
        </span>
      )}
      <span class="on-card">
        {measure.unit ? " of " : " "}
        <bdi>{measure.unit ? measureNoun(measure) : thingsOf(number, measureNoun(measure))}</bdi>
      </span>
    </>
  );
}

function RecordStatus(
  { voidedAt, voidedByName, voidReason, timezone }: NamedUsageRecord & { timezone: string },
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
