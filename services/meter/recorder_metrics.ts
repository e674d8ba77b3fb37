// What the recorder counts, for /metrics.
import { Histogram } from "../histogram.ts";

const durationBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const recordsBuckets = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000];

/** Records by result: `rejected` have a key that is invalid or may not record; `conflict` and `limited` are those of a request with such a record. */
export type RecordCounts = Record<"recorded" | "duplicate" | "conflict" | "limited" | "rejected", number>;

/** @returns Counts of zero. */
export const noRecords = (): RecordCounts => ({
  recorded: 0,
  duplicate: 0,
  conflict: 0,
  limited: 0,
  rejected: 0,
});

/** The counts of commits. */
export class CommitMetrics {
  readonly counts = noRecords();
  readonly commitSeconds = new Histogram(durationBucketsSeconds);
  readonly commitRecords = new Histogram(recordsBuckets);

  /** Counts a committed group. @param startedAt By `performance.now()`. @param counts Its records. */
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
