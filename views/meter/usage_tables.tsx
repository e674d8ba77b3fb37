// The tables of the usage page: the most active keys and the latest records.
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { exactTimeIn, zoneWords } from "../text/zone.ts";
import { Badge } from "../components/badge.tsx";
import { MomentTime } from "../components/relative_time.tsx";
import { Share } from "../components/share.tsx";
import { Cell, LinkedName, Row, Table } from "../components/table.tsx";

interface Amounts {
  /** A decimal string. */
  readonly sum: string;
  /** Percent of the total; null if the total is 0. */
  readonly share: number | null;
  /** The number of records. */
  readonly count: number;
}

/** Stands where a record without a key would name its key. */
export const operatorRecordsName = "Recorded by the operator";

/** The values of {@linkcode KeyUsageTable}. */
export interface KeyUsageProps {
  /** `href`: the usage page with only this key; null for usage without a key. */
  readonly keys: readonly (Amounts & { readonly name: string; readonly href: string | null })[];
  /** The total of all other keys. */
  readonly others: (Amounts & { readonly keys: number }) | null;
  /** What is summed: `requests`. */
  readonly unit: string;
  /** What the rows are, by default API keys. */
  /** Keeps it a table on a phone. */
  readonly isSmall?: boolean;
  readonly of?: { readonly label: string; readonly column: string; readonly other: string };
}

const ofKeys = { label: "Most active keys", column: "API key", other: "other key" };

/** The most active keys, or other things, and their share of the usage. */
export function KeyUsageTable({ keys, others, unit, isSmall = false, of = ofKeys }: KeyUsageProps) {
  const columns = [of.column, "Share", { title: unit, isNumber: true }, {
    title: "Records",
    isNumber: true,
    isOptional: isSmall,
  }];
  const rows = [
    ...keys.map(({ name, href, ...amounts }) => ({
      ...amounts,
      title: href === null ? <span class="name">{name}</span> : <LinkedName href={href} name={name} />,
    })),
    ...(others === null
      ? []
      : [{ ...others, title: <span class="muted">{countOf(others.keys, of.other)}</span> }]),
  ];
  return (
    <Table label={of.label} columns={columns} isSmall={isSmall}>
      {rows.map(({ title, share, sum, count }) => (
        <Row>
          <Cell place="title">{title}</Cell>
          <Cell label="Share">
            <Share percent={share} />
          </Cell>
          <Cell label={unit} isNumber>{groupDigits(sum)}</Cell>
          <Cell label="Records" isNumber isOptional={isSmall}>{groupDigits(count)}</Cell>
        </Row>
      ))}
    </Table>
  );
}

/** A record. */
export interface UsageRecordRow {
  readonly id: string;
  /** ISO 8601 UTC. */
  readonly timestamp: string;
  readonly productSlug: string;
  readonly metric: string;
  /** A number or a decimal string. */
  readonly quantity: number | string;
  /** Null if an operator recorded it. */
  readonly apiKeyName: string | null;
  /** When, by which key and why it was voided; null if it counts. `voidedByName` is null for an operator. */
  readonly voidedAt: string | null;
  readonly voidedByName: string | null;
  readonly voidReason: string | null;
}

/** Records. `now`: milliseconds since 1970. `timezone`: an IANA name. `voidHref`: the page that voids a record, if there is one. */
export function RecordTable(
  { records, now, timezone, voidHref }: {
    records: readonly UsageRecordRow[];
    now: number;
    timezone: string;
    voidHref?: (id: string) => string;
  },
) {
  const columns = [
    `Time (${zoneWords(timezone)})`,
    "Product",
    "Metric",
    { title: "Quantity", isNumber: true },
    "API key",
    "Status",
  ];
  return (
    <Table label="Latest records" columns={columns}>
      {records.map((record) => (
        <Row over={record.voidedAt !== null}>
          <Cell place="title" value={<MomentTime at={record.timestamp} now={now} timezone={timezone} />} />
          <Cell label="Product" value={<code>{record.productSlug}</code>} />
          <Cell label="Metric" value={<code>{record.metric}</code>} />
          <Cell label="Quantity" isNumber value={<span class="name">{groupDigits(record.quantity)}</span>} />
          <Cell
            label="API key"
            value={record.apiKeyName === null
              ? <span class="muted">{operatorRecordsName}</span>
              : <bdi>{record.apiKeyName}</bdi>}
          />
          <Cell place="state">
            <Status {...record} timezone={timezone} />
            {voidHref && record.voidedAt === null && (
              <>
                {" "}
                <a class="small" href={voidHref(record.id)}>Void</a>
              </>
            )}
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

function Status({ voidedAt, voidedByName, voidReason, timezone }: UsageRecordRow & { timezone: string }) {
  if (voidedAt === null) return <Badge tone="on">Counted</Badge>;
  return (
    <span class="state-words" title={`Voided on ${exactTimeIn(Date.parse(voidedAt), timezone)}`}>
      <Badge tone="off">Voided</Badge>
      <span class="tiny">
        by {voidedByName === null ? "the operator" : <bdi>{voidedByName}</bdi>}: {voidReason}
      </span>
    </span>
  );
}
