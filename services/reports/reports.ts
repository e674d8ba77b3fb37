// The way to the reports thread. What is expensive happens there; here only bytes pass through.
import { DatabaseError, type DatabaseSource } from "../../db/engine/database.ts";
import type { ReportInput, ReportName, ReportResult } from "./report_types.ts";
import { receivedError, type ReportsRequest, type ReportsResponse } from "./report_messages.ts";

/** A report as bytes, some or all of them not made yet. */
export interface ReportBytes {
  /** What the report says about itself; empty for most. */
  readonly head: string;
  /** All of a short report; of a long one a stream, made as it is read. */
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>;
}

interface OpenReport {
  head: string;
  isRunning: boolean;
  /** Set once the first bytes are there and more follow. */
  stream: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  /** Ends the pull that waits. */
  pulled: () => void;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** @returns The reports thread, not yet told what to read. */
export function newReportsWorker(): Worker {
  return new Worker(new URL("./reports_worker.ts", import.meta.url), { type: "module" });
}

/** Starts the thread when it is first needed, if not before, and again when it has ended. */
export class Reports {
  readonly #source: DatabaseSource;
  readonly #onTrouble: (error: Error) => void;
  readonly #open = new Map<number, OpenReport>();
  readonly #startWorker: () => Worker;
  #worker: Worker | undefined;
  #lastId = 0;
  #isDraining = false;
  #closed: (() => void) | undefined;

  /** @param source What to read. @param options `onTrouble`: told when the thread ended by a fault. `startWorker`: for tests. */
  constructor(
    source: DatabaseSource,
    options: { onTrouble: (error: Error) => void; startWorker?: () => Worker },
  ) {
    this.#source = source;
    this.#onTrouble = options.onTrouble;
    this.#startWorker = options.startWorker ?? newReportsWorker;
  }

  /** Starts the thread, so that the first report doesn't have to, at a time when no file descriptor may be free. */
  start(): void {
    this.#worker ??= this.#start();
  }

  /** How many reports are under way, and how many wait for a place or for their clients. */
  get counts(): { running: number; waiting: number } {
    const running = [...this.#open.values()].filter(({ isRunning }) => isRunning).length;
    return { running, waiting: this.#open.size - running };
  }

  /**
   * Runs a report that returns a value.
   *
   * @param signal Cancels it.
   * @throws {AppError} What the report throws; `unavailable` when there are too many. @throws {DatabaseError}
   */
  async read<N extends ReportName>(
    name: N,
    input: ReportInput<N>,
    signal?: AbortSignal,
  ): Promise<ReportResult<N>> {
    const { value } = await this.#ask(name, input, signal);
    return value as ReportResult<N>;
  }

  /** Runs a report that sends bytes. @returns Once the first are there. @throws As {@linkcode read}. */
  async bytes<N extends ReportName>(
    name: N,
    input: ReportInput<N>,
    signal?: AbortSignal,
  ): Promise<ReportBytes> {
    const { value, head } = await this.#ask(name, input, signal);
    return { head, body: value as ReportBytes["body"] };
  }

  /** From now on no report begins; those that are under way go on. */
  drain(): void {
    this.#isDraining = true;
    this.#worker?.postMessage({ type: "drain" } satisfies ReportsRequest);
  }

  /** Ends every report and the thread. */
  async close(): Promise<void> {
    this.#isDraining = true;
    const worker = this.#worker;
    if (worker === undefined) return;
    const closed = new Promise<void>((resolve) => this.#closed = resolve);
    worker.postMessage({ type: "close" } satisfies ReportsRequest);
    await closed;
    this.#end(worker, new DatabaseError("unavailable", "the reports thread is closed"));
  }

  #ask(
    name: ReportName,
    input: ReportInput<ReportName>,
    signal: AbortSignal | undefined,
  ): Promise<{ value: unknown; head: string }> {
    if (this.#isDraining) {
      return Promise.reject(new DatabaseError("unavailable", "the reports thread is closed"));
    }
    const id = ++this.#lastId;
    return new Promise<{ value: unknown; head: string }>((resolve, reject) => {
      signal?.throwIfAborted();
      const cancel = () => {
        this.#cancel(id);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", cancel);
      const report: OpenReport = {
        head: "",
        isRunning: false,
        stream: undefined,
        pulled: () => {},
        resolve: (value) => {
          signal?.removeEventListener("abort", cancel);
          resolve({ value, head: report.head });
        },
        reject: (error) => {
          signal?.removeEventListener("abort", cancel);
          reject(error);
        },
      };
      this.#open.set(id, report);
      this.#send({ type: "report", id, name, input });
    });
  }

  #send(request: ReportsRequest): void {
    this.#worker ??= this.#start();
    this.#worker.postMessage(request);
  }

  #cancel(id: number): void {
    if (this.#open.delete(id)) this.#worker?.postMessage({ type: "cancel", id } satisfies ReportsRequest);
  }

  #start(): Worker {
    const worker = this.#startWorker();
    worker.onmessage = ({ data }: MessageEvent<ReportsResponse>) => this.#receive(data);
    worker.onerror = (event) => {
      event.preventDefault();
      const error = new DatabaseError("unavailable", `the reports thread ended: ${event.message}`);
      this.#end(worker, error);
      this.#closed?.();
      this.#onTrouble(error);
    };
    worker.postMessage({ type: "open", source: this.#source } satisfies ReportsRequest);
    return worker;
  }

  #end(worker: Worker, error: Error): void {
    worker.terminate();
    this.#worker = undefined;
    for (const id of [...this.#open.keys()]) this.#fail(id, error);
  }

  #receive(response: ReportsResponse): void {
    if (response.type === "closed") return this.#closed?.();
    const report = this.#open.get(response.id);
    // What was cancelled may have been on its way.
    if (report === undefined) return;
    if (response.type === "started") report.isRunning = true;
    else if (response.type === "head") report.head = response.head;
    else if (response.type === "failed") this.#fail(response.id, receivedError(response.error));
    else if (response.type === "part") {
      report.isRunning = false;
      this.#deliver(response.id, report, response.bytes);
    } else {
      this.#open.delete(response.id);
      if (report.stream === undefined) return report.resolve(response.value);
      const last = response.value as Uint8Array<ArrayBuffer>;
      if (last.length > 0) report.stream.enqueue(last);
      report.stream.close();
      report.pulled();
    }
  }

  #deliver(id: number, report: OpenReport, bytes: Uint8Array<ArrayBuffer>): void {
    if (report.stream !== undefined) {
      report.stream.enqueue(bytes);
      return report.pulled();
    }
    let first: Uint8Array<ArrayBuffer> | null = bytes;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        report.stream = controller;
      },
      pull: (controller) => {
        if (first !== null) {
          controller.enqueue(first);
          first = null;
          return;
        }
        report.isRunning = true;
        this.#send({ type: "more", id });
        return new Promise<void>((resolve) => report.pulled = resolve);
      },
      cancel: () => this.#cancel(id),
    }, { highWaterMark: 0 });
    report.resolve(body);
  }

  #fail(id: number, error: Error): void {
    const report = this.#open.get(id);
    this.#open.delete(id);
    if (report?.stream === undefined) return report?.reject(error);
    report.stream.error(error);
    report.pulled();
  }
}
