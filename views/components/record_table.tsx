// The latest usage records, one a row.
import { groupDigits } from "../text/number.ts";
import { Badge } from "./badge.tsx";
import { MomentTime } from "./relative_time.tsx";
import { Cell, type Column, Row, Table } from "./table.tsx";

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
  /** ISO 8601 UTC, or null while it counts. */
  readonly voidedAt: string | null;
}

const columns: readonly Column[] = [
  { title: "When, UTC" },
  { title: "Product" },
  { title: "Metric" },
  { title: "Quantity", isNumber: true },
  { title: "Key" },
  { title: "State" },
];

/** The records as a table, newest first as given. */
export function RecordTable({ records, now }: { records: readonly UsageRecordRow[]; now: number }) {
  return (
    <Table label="Latest records" columns={columns}>
      {records.map((record) => (
        <Row over={record.voidedAt !== null}>
          <Cell place="title">
            <MomentTime at={record.timestamp} now={now} />
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
            {record.voidedAt === null ? <Badge tone="on">Counted</Badge> : <Badge tone="off">Voided</Badge>}
          </Cell>
        </Row>
      ))}
    </Table>
  );
}
