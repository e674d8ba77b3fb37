// What the services measure about themselves, for /metrics.
import type { DataFileSize } from "../db/engine/diagnostics.ts";
import type { OutboxState } from "../db/mail/outbox.ts";
import type { MailCounts } from "./mail/mail.ts";
import type { RecorderMetrics } from "./meter/recorder_metrics.ts";

/** Read when someone asks for the metrics; the objects change as things happen. */
export interface ServerMetrics {
  readonly recorder: () => RecorderMetrics;
  /** Reports that are under way, and those that wait for a place or for their clients. */
  readonly reports: () => { readonly running: number; readonly waiting: number };
  readonly mail: {
    readonly counts: MailCounts;
    /** @throws {DatabaseError} */
    readonly outbox: () => Promise<OutboxState>;
  };
  /** @returns The sizes of the data file; null when the database is a server. */
  readonly databaseSize: () => Promise<DataFileSize | null>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}
