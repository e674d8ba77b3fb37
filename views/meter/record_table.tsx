// The latest usage records.
import { groupDigits } from "../../domain/number_text.ts";
import { exactTimeIn, zoneWords } from "../text/zone.ts";
import { Badge } from "../components/badge.tsx";
import { MomentTime } from "../components/relative_time.tsx";
import { Cell, type Column, Row, Table } from "../components/table.tsx";

/** A record. */
export interface UsageRecordRow {
  readonly id: string;
  /** ISO 8601 UTC. */
  readonly timestamp: string;
  readonly productSlug: string;
  readonly metric: string;
  /** A number or a decimal string. */
  readonly quantity: number | string;
  readonly apiKeyName: string;
  /** When and why it was voided; null if it counts. */
  readonly voidedAt: string | null;
  readonly voidReason: string | null;
}

/** The values of the table. */
export interface RecordTableProps {
  readonly records: readonly UsageRecordRow[];
  /** The current time, in milliseconds since 1970. */
  readonly now: number;
  /** An IANA name. */
  readonly timezone: string;
}

/** The table, in the given order. */
export function RecordTable({ records, now, timezone }: RecordTableProps) {
  const columns: readonly Column[] = [
    { title: `Time (${zoneWords(timezone)})` },
    { title: "Product" },
    { title: "Metric" },
    { title: "Quantity", isNumber: true },
    { title: "API key" },
    { title: "Status" },
  ];
  return (
    <Table label="Latest records" columns={columns}>
      {records.map((record) => (
        <Row over={record.voidedAt !== null}>
          <Cell place="title">
            <MomentTime at={record.timestamp} now={now} timezone={timezone} />
          </Cell>
          <Cell label="Product">
            <code>{record.productSlug}</code>
          </Cell>
          <Cell label="Metric">
            <code>{record.metric}</code>
          </Cell>
          <Cell label="Quantity" isNumber>
            <span class="name">{groupDigits(record.quantity)}</span>
          </Cell>
          <Cell label="API key">
            <bdi>{record.apiKeyName}</bdi>
          </Cell>
          <Cell place="state">
            <Status {...record} timezone={timezone} />
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

function Status({ voidedAt, voidReason, timezone }: UsageRecordRow & { timezone: string }) {
  if (voidedAt === null) return <Badge tone="on">Counted</Badge>;
  return (
    <span class="state-words" title={`Voided on ${exactTimeIn(Date.parse(voidedAt), timezone)}`}>
      <Badge tone="off">Voided</Badge>
      {voidReason === null ? null : <span class="tiny">{voidReason}</span>}
    </span>
  );
}
