// Reports problems with usage to the application, without ever disturbing it.
import { clearTimeout, setTimeout } from "node:timers";
import type { SentRecord } from "./record.ts";

/**
 * Usage is `delayed` until Gatehouse accepts it, sending `resumed`, usage was `rejected`, `dropped` or `rounded`, or the
 * `spool` has a fault.
 */
export type MeterProblemKind = "delayed" | "resumed" | "rejected" | "dropped" | "rounded" | "spool";

/** Something that the people who run the application should know. */
export interface MeterProblem {
  readonly kind: MeterProblemKind;
  /** One line for a log. */
  readonly message: string;
  /** The number of affected records: for `delayed` and `resumed`, all that wait. */
  readonly count: number;
  /** The rejected records, at most 100. */
  readonly records: readonly SentRecord[];
}

interface Pending {
  count: number;
  reason: string;
  readonly records: SentRecord[];
  readonly timer: ReturnType<typeof setTimeout> | undefined;
}

const recordsMax = 100;
const messageCharactersMax = 1_000;
const hookIntervalMs = 1_000;
const logIntervalMs = 10_000;

const words: Readonly<Record<MeterProblemKind, string>> = {
  delayed: "waiting",
  resumed: "waiting",
  rejected: "rejected",
  dropped: "dropped",
  rounded: "rounded",
  spool: "affected",
};

/** Reports problems: the first of a kind immediately, further ones together after a second, or ten in a log. */
export class Problems {
  readonly #tell: (problem: MeterProblem) => unknown;
  readonly #intervalMs: number;
  readonly #pending = new Map<MeterProblemKind, Pending>();
  readonly #toldAt = new Map<MeterProblemKind, number>();

  constructor(onProblem: ((problem: MeterProblem) => void) | undefined) {
    this.#tell = onProblem ?? log;
    this.#intervalMs = onProblem ? hookIntervalMs : logIntervalMs;
  }

  report(
    kind: MeterProblemKind,
    { reason, count = 0, records = [] }: { reason: string; count?: number; records?: readonly SentRecord[] },
  ): void {
    // The last report is about the current state.
    if (kind === "delayed") this.#forget("resumed");
    if (kind === "resumed") this.#forget("delayed");
    const pending = this.#pending.get(kind);
    if (pending === undefined) {
      const waitMs = (this.#toldAt.get(kind) ?? -Infinity) + this.#intervalMs - performance.now();
      const timer = waitMs > 0 ? setTimeout(() => this.#deliver(kind), waitMs).unref() : undefined;
      this.#pending.set(kind, { count, reason, records: records.slice(0, recordsMax), timer });
      // Together with those of the same loop.
      if (timer === undefined) queueMicrotask(() => this.#deliver(kind));
      return;
    }
    pending.reason = reason;
    pending.count = kind === "delayed" || kind === "resumed" ? count : pending.count + count;
    pending.records.push(...records.slice(0, recordsMax - pending.records.length));
  }

  /** Delivers pending problems now. */
  flush(): void {
    for (const kind of this.#pending.keys()) this.#deliver(kind);
  }

  #deliver(kind: MeterProblemKind): void {
    const pending = this.#pending.get(kind);
    if (pending === undefined) return;
    this.#forget(kind);
    this.#toldAt.set(kind, performance.now());
    const { count, reason, records } = pending;
    const counted = count > 0 ? `${count} ${count === 1 ? "record" : "records"} ${words[kind]}: ` : "";
    // OpenSSL's errors, for example, have more than one line.
    const message = `Usage: ${counted}${reason}`.replace(/\s+/g, " ").trim().slice(0, messageCharactersMax);
    // A failing hook must not affect the application.
    new Promise((resolve) => resolve(this.#tell({ kind, count, records, message }))).catch(() => {});
  }

  #forget(kind: MeterProblemKind): void {
    clearTimeout(this.#pending.get(kind)?.timer);
    this.#pending.delete(kind);
  }
}

function log({ kind, message }: MeterProblem): void {
  const isLoss = kind === "rejected" || kind === "dropped";
  // deno-lint-ignore no-console
  (isLoss ? console.error : console.warn)(`[gatehouse] ${message}`);
}
