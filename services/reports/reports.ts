// A thread's access to the reports thread. Expensive work happens there; only bytes pass through here.
import { DatabaseError } from "../../db/engine/database.ts";
import { receivedError } from "../sent_errors.ts";
import type { ReportsRequest, ReportsResponse } from "./report_messages.ts";
import type { ReportReader } from "./report_reader.ts";
import type { ReportInput, ReportName, ReportResult } from "./report_types.ts";
import type { ReportsConnector } from "./reports_thread.ts";

/** A report as bytes. */
export interface ReportBytes {
  /** Metadata that the report sends before its bytes; empty for most. */
  readonly head: string;
  /** All of a short report; a stream of a long one, which is produced while it is read. */
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** Who reads a report, and what cancels it. */
export interface ReportOptions {
  readonly reader: ReportReader;
  readonly signal?: AbortSignal | undefined;
}

interface OpenReport {
  head: string;
  isRunning: boolean;
  /** Set by the first bytes when more follow. */
  stream: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  /** Completes the stream's waiting pull. */
  onPulled: () => void;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Runs reports. Connects when the first one is needed, and again after the reports thread failed. */
export class Reports {
  readonly #thread: ReportsConnector;
  readonly #open = new Map<number, OpenReport>();
  #port: MessagePort | undefined;
  #lastId = 0;
  #isDraining = false;
  #isClosed = false;
  #onClosed: (() => void) | undefined;

  constructor(thread: ReportsConnector) {
    this.#thread = thread;
  }

  /** How many reports are running, and how many wait to start or for their clients. */
  get counts(): { running: number; waiting: number } {
    const running = [...this.#open.values()].filter(({ isRunning }) => isRunning).length;
    return { running, waiting: this.#open.size - running };
  }

  /**
   * Runs a report that returns a value.
   *
   * @param options `reader`: who reads it. `signal`: cancels it.
   * @throws {AppError} What the report throws; `unavailable` when there are too many. @throws {DatabaseError}
   */
  async read<N extends ReportName>(
    name: N,
    input: ReportInput<N>,
    options: ReportOptions,
  ): Promise<ReportResult<N>> {
    const { value } = await this.#run(name, input, options);
    return value as ReportResult<N>;
  }

  /** Runs a report that sends bytes. @returns The report, once its first bytes have arrived. @throws As {@linkcode read}. */
  async bytes<N extends ReportName>(
    name: N,
    input: ReportInput<N>,
    options: ReportOptions,
  ): Promise<ReportBytes> {
    const { value, head } = await this.#run(name, input, options);
    return { head, body: value as ReportBytes["body"] };
  }

  /** Starts no more reports except for work; those that are running continue. */
  drain(): void {
    this.#isDraining = true;
    this.#port?.postMessage({ type: "drain" } satisfies ReportsRequest);
  }

  /** Ends the reports of this thread. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const port = this.#port;
    if (port === undefined) return;
    const closed = new Promise<void>((resolve) => this.#onClosed = resolve);
    port.postMessage({ type: "close" } satisfies ReportsRequest);
    await closed;
    this.#end(port, closedError());
  }

  async #run(
    name: ReportName,
    input: ReportInput<ReportName>,
    { reader, signal }: ReportOptions,
  ): Promise<{ value: unknown; head: string }> {
    if (this.#isClosed || (this.#isDraining && !reader.isWork)) throw closedError();
    signal?.throwIfAborted();
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const report: OpenReport = {
      head: "",
      isRunning: false,
      stream: undefined,
      onPulled: () => {},
      resolve,
      reject,
    };
    const cancel = () => {
      this.#cancel(id);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", cancel);
    this.#open.set(id, report);
    try {
      this.#send({ type: "report", id, name, input, reader });
      return { value: await promise, head: report.head };
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  #send(request: ReportsRequest): void {
    this.#port ??= this.#connect();
    this.#port.postMessage(request);
  }

  #cancel(id: number): void {
    if (this.#open.delete(id)) this.#port?.postMessage({ type: "cancel", id } satisfies ReportsRequest);
  }

  #connect(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }: MessageEvent<ReportsResponse>) => this.#receive(data);
    const ended = this.#thread.connect(port2);
    ended.then(() => this.#end(port1, closedError()), (error) => this.#end(port1, error));
    return port1;
  }

  #end(port: MessagePort, error: Error): void {
    port.close();
    if (this.#port !== port) return;
    this.#port = undefined;
    for (const id of [...this.#open.keys()]) this.#fail(id, error);
    this.#onClosed?.();
  }

  #receive(response: ReportsResponse): void {
    if (response.type === "closed") return this.#onClosed?.();
    const report = this.#open.get(response.id);
    // Messages of a canceled report may still arrive.
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
      report.onPulled();
    }
  }

  #deliver(id: number, report: OpenReport, bytes: Uint8Array<ArrayBuffer>): void {
    if (report.stream !== undefined) {
      report.stream.enqueue(bytes);
      return report.onPulled();
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
        return new Promise<void>((resolve) => report.onPulled = resolve);
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
    report.onPulled();
  }
}

function closedError(): DatabaseError {
  return new DatabaseError("unavailable", "the reports thread is closed");
}
