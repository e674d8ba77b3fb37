// What the main thread and the other HTTP threads call in each other.
import type { MessagePort } from "node:worker_threads";
import type { Settings } from "../../config.ts";
import type { DatabaseShare } from "../../db/engine/database.ts";
import type { MetricValues } from "../../routes/metric_set.ts";
import type { ProcessCalls } from "../../services/process_parts.ts";

/** What an HTTP thread is started with. */
export interface HttpThreadData {
  /** Its number, from 2: the main thread is 1. */
  readonly thread: number;
  /** How many serve HTTP, with the main thread. */
  readonly threads: number;
  /** The settings with the secrets that are in files, and with the open port. */
  readonly settings: Settings;
  /** Of the program. */
  readonly version: string;
  readonly share: DatabaseShare;
  /** Of the rate limits. */
  readonly rateLimitBuffer: SharedArrayBuffer;
  /** For the calls. */
  readonly port: MessagePort;
}

/** Why an HTTP thread could not start. */
export interface StartFailure {
  readonly message: string;
  /** The exit status of the program. */
  readonly status: number;
}

/** What the main thread calls in an HTTP thread. `HttpServer` explains most of it. */
export interface HttpThreadCalls {
  /** @returns Null once the thread handles requests, or else why it can't. */
  start(): Promise<StartFailure | null>;
  markReady(): void;
  collectMetrics(): Promise<MetricValues>;
  /** See `SharedDatabase`. */
  failDatabase(message: string): void;
  drain(): void;
  finish(): Promise<void>;
  closePort(): Promise<void>;
  /** Writes what was accepted, and closes the database. */
  close(): Promise<void>;
}

/** What an HTTP thread calls in the main thread. */
export interface MainThreadCalls extends ProcessCalls {
  /** @returns The metrics of all threads and of the process. */
  allMetrics(): Promise<readonly MetricValues[]>;
}
