// What the recorder measures about itself, for /metrics.
import { Distribution } from "../distribution.ts";

const durationBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const recordsBuckets = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000];

/** What became of records: `rejected` have an invalid key; `conflict` and `limited` came in a request that has one such record. */
export type RecordCounts = Record<"recorded" | "duplicate" | "conflict" | "limited" | "rejected", number>;

/** What has happened since the start, and what is waiting. */
export interface RecorderMeasurements {
  readonly counts: Readonly<RecordCounts>;
  /** From handing a group to the database to its answer. */
  readonly commitSeconds: Distribution;
  readonly commitRecords: Distribution;
  readonly queuedRecords: number;
  /** When the oldest of these came, in milliseconds since 1970; null when none is waiting. */
  readonly oldestQueuedAt: number | null;
}

/** The part that commits add to. */
export class CommitMeasurements {
  readonly counts: RecordCounts = { recorded: 0, duplicate: 0, conflict: 0, limited: 0, rejected: 0 };
  readonly commitSeconds = new Distribution(durationBucketsSeconds);
  readonly commitRecords = new Distribution(recordsBuckets);

  /** Counts a group that was committed. @param startedAt By `performance.now()`. @param counts Its records. */
  observeCommit(startedAt: number, counts: Readonly<RecordCounts>): void {
    this.commitSeconds.observe((performance.now() - startedAt) / 1000);
    let records = 0;
    for (const result of Object.keys(counts) as (keyof RecordCounts)[]) {
      this.counts[result] += counts[result];
      records += counts[result];
    }
    this.commitRecords.observe(records);
  }
}
