// The most active keys and their share of the usage. Each links to its own usage.
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { Cell, type Column, Row, Table } from "../components/table.tsx";

/** The usage of a key. */
export interface KeyUsageRow {
  readonly name: string;
  /** The usage page with only this key. */
  readonly href: string;
  /** A decimal string. */
  readonly sum: string;
  /** Percent of the total; null if the total is 0. */
  readonly share: number | null;
  /** The number of records. */
  readonly count: number;
}

/** The values of the table. */
export interface KeyUsageProps {
  readonly keys: readonly KeyUsageRow[];
  /** The sum of all other keys. */
  readonly others: (Omit<KeyUsageRow, "name" | "href"> & { readonly keys: number }) | null;
  /** What is summed: `requests`. */
  readonly unit: string;
}

/** The table, in the given order. */
export function KeyUsageTable({ keys, others, unit }: KeyUsageProps) {
  const columns: readonly Column[] = [
    { title: "Key" },
    { title: "Share" },
    { title: unit, isNumber: true },
    { title: "Records", isNumber: true },
  ];
  return (
    <Table label="Most active keys" columns={columns}>
      {keys.map((key) => (
        <Row>
          <Cell place="title">
            <a class="name" href={key.href}>
              <bdi>{key.name}</bdi>
            </a>
          </Cell>
          <Amounts {...key} unit={unit} />
        </Row>
      ))}
      {others === null ? null : (
        <Row>
          <Cell place="title">
            <span class="muted">{countOf(others.keys, "other key")}</span>
          </Cell>
          <Amounts {...others} unit={unit} />
        </Row>
      )}
    </Table>
  );
}

function Amounts({ share, sum, count, unit }: Omit<KeyUsageRow, "name" | "href"> & { unit: string }) {
  return (
    <>
      <Cell label="Share">
        <span class="share">
          <ShareBar percent={share ?? 0} />
          <span class="num">{share === null ? "–" : `${share.toFixed(1)}%`}</span>
        </span>
      </Cell>
      <Cell label={unit} isNumber>{groupDigits(sum)}</Cell>
      <Cell label="Records" isNumber>{groupDigits(count)}</Cell>
    </>
  );
}

/** A bar for the number next to it. */
function ShareBar({ percent }: { percent: number }) {
  return (
    <svg class="share-bar" aria-hidden="true">
      <rect class="share-all" width="100%" height="100%" rx="3" />
      {percent === 0 ? null : <rect class="share-part" width={`${percent}%`} height="100%" rx="3" />}
    </svg>
  );
}
