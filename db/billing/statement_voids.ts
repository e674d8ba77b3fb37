// SQL of the voided records in a month of a statement.
import type { Quantity } from "../../domain/meter/quantity.ts";
import { type DatabaseReader, sql } from "../engine/database.ts";
import { numberOf } from "../meter/mod.ts";

export interface VoidedPosition {
  readonly timestamp: number;
  readonly series: number;
  readonly seq: number;
}

export interface VoidedRow extends VoidedPosition, Quantity {
  readonly productSlug: string;
  readonly metric: string;
}

/** Returns voided records of an organization by time, from `start` up to before `end`. */
export function findVoidedPart(
  database: DatabaseReader,
  { organizationId, start, end, after, limit }: {
    organizationId: string;
    start: number;
    end: number;
    after: VoidedPosition | undefined;
    limit: number;
  },
): Promise<VoidedRow[]> {
  const from = after ?? { timestamp: start, series: -1, seq: -1 };
  return database.read(sql`
    SELECT v.timestamp, v.series, v.seq, s.product_slug AS productSlug, s.metric, r.quantity_whole AS whole,
      r.quantity_micro AS micro
    FROM usage_voids v INDEXED BY usage_voids_timestamp
    CROSS JOIN usage_records r ON r.seq = v.seq CROSS JOIN usage_series s ON s.id = v.series
    WHERE v.organization = ${
    numberOf(organizationId)
  } AND v.timestamp >= ${from.timestamp} AND v.timestamp < ${end}
      AND (v.timestamp, v.series, v.seq) > (${from.timestamp}, ${from.series}, ${from.seq})
    ORDER BY v.timestamp, v.series, v.seq LIMIT ${limit}`);
}
