// The calls between the main thread and the other HTTP threads.
import type { MessagePort } from "node:worker_threads";
import type { Settings } from "../../config.ts";
import type { DatabaseShare } from "../../db/engine/database.ts";
import type { MetricValues } from "../../routes/metric_set.ts";
import type { ProcessCalls } from "../../services/process_parts.ts";

export interface HttpThreadData {
  /** Its number, from 2: the main thread is 1. */
  readonly thread: number;
  /** The number of threads that serve HTTP, with the main thread. */
  readonly threads: number;
  /** The settings with the secrets that are in files, and with the open port. */
  readonly settings: Settings;
  readonly version: string;
  readonly share: DatabaseShare;
  readonly rateLimitBuffer: SharedArrayBuffer;
  /** Memory of the state of a continuous backup. */
  readonly streamBuffer: SharedArrayBuffer | undefined;
  readonly port: MessagePort;
}

/** `status`: the exit status of the program. */
export interface StartFailure {
  readonly message: string;
  readonly status: number;
}

/** Calls of the main thread to an HTTP thread. `HttpServer` explains most of them. */
export interface HttpThreadCalls {
  /** Returns null once the thread handles requests, or else why it can't. */
  start(): Promise<StartFailure | null>;
  markReady(): void;
  collectMetrics(): Promise<MetricValues>;
  /** See `SharedDatabase`. */
  failDatabase(message: string): void;
  drain(): void;
  finish(): Promise<void>;
  closePort(): Promise<void>;
  /** Writes accepted records, and closes the database. */
  close(): Promise<void>;
}

/** Calls of an HTTP thread to the main thread. */
export interface MainThreadCalls extends ProcessCalls {
  /** Returns the metrics of all threads and of the process. */
  allMetrics(): Promise<readonly MetricValues[]>;
}
