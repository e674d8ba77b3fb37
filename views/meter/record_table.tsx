// The latest usage records, one a row.
import { groupDigits } from "../../domain/number_text.ts";
import { exactTimeIn, zoneWords } from "../text/zone.ts";
import { Badge } from "../components/badge.tsx";
import { MomentTime } from "../components/relative_time.tsx";
import { Cell, type Column, Row, Table } from "../components/table.tsx";

/** A record in the list. */
export interface UsageRecordRow {
  readonly id: string;
  /** ISO 8601 UTC. */
  readonly timestamp: string;
  readonly productSlug: string;
  readonly metric: string;
  /** A number, or an exact decimal text. */
  readonly quantity: number | string;
  readonly apiKeyName: string;
  /** When it was voided, ISO 8601 UTC, and why; null while it counts. */
  readonly voidedAt: string | null;
  readonly voidReason: string | null;
}

/** What the table shows. */
export interface RecordTableProps {
  readonly records: readonly UsageRecordRow[];
  /** The time of the page, in milliseconds since 1970. */
  readonly now: number;
  /** Whose clock the times are read from: an IANA name. */
  readonly timezone: string;
}

/** The records as a table, newest first as given. */
export function RecordTable({ records, now, timezone }: RecordTableProps) {
  const columns: readonly Column[] = [
    { title: `When, ${zoneWords(timezone)}` },
    { title: "Product" },
    { title: "Metric" },
    { title: "Quantity", isNumber: true },
    { title: "Key" },
    { title: "State" },
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
          <Cell label="Key">
            <bdi>{record.apiKeyName}</bdi>
          </Cell>
          <Cell place="state">
            <State {...record} timezone={timezone} />
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

function State({ voidedAt, voidReason, timezone }: UsageRecordRow & { timezone: string }) {
  if (voidedAt === null) return <Badge tone="on">Counted</Badge>;
  return (
    <span class="state-words" title={`Voided on ${exactTimeIn(Date.parse(voidedAt), timezone)}`}>
      <Badge tone="off">Voided</Badge>
      {voidReason === null ? null : <span class="tiny">{voidReason}</span>}
    </span>
  );
}
