// A thread's access to the reports thread. Expensive work happens there; only bytes pass through here.
import { DatabaseError } from "../../db/engine/database.ts";
import { receivedError } from "../sent_errors.ts";
import type { ReportsRequest, ReportsResponse } from "./job_messages.ts";
import type { JobReader } from "./job_reader.ts";
import type { JobInput, JobName, JobResult } from "./job_list.ts";
import type { ReportsConnector } from "./reports_thread.ts";

/** All bytes of a short job; a stream of those of a long one, which are produced while they are read. */
export type JobBytes = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>;

export interface JobOptions {
  readonly reader: JobReader;
  readonly signal?: AbortSignal | undefined;
}

interface OpenJob {
  isRunning: boolean;
  /** Set by the first bytes when more follow. */
  stream: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  /** Completes the stream's waiting pull. */
  onPulled: () => void;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Runs jobs. Connects when the first one is needed, and again after the reports thread failed. */
export class Reports {
  readonly #thread: ReportsConnector;
  readonly #open = new Map<number, OpenJob>();
  #port: MessagePort | undefined;
  #lastId = 0;
  #isDraining = false;
  #isClosed = false;
  #onClosed: (() => void) | undefined;

  constructor(thread: ReportsConnector) {
    this.#thread = thread;
  }

  /** The number of running jobs, and of those that wait to start or for their clients. */
  get counts(): { running: number; waiting: number } {
    const running = [...this.#open.values()].filter(({ isRunning }) => isRunning).length;
    return { running, waiting: this.#open.size - running };
  }

  /** Runs a job that returns a value. @throws {AppError} As the job throws; `unavailable` when there are too many. */
  async read<N extends JobName>(
    name: N,
    input: JobInput<N>,
    options: JobOptions,
  ): Promise<JobResult<N>> {
    return await this.#run(name, input, options) as JobResult<N>;
  }

  /** Runs a job that sends bytes. Resolves when the first of them have arrived. @throws As {@linkcode read}. */
  async bytes<N extends JobName>(
    name: N,
    input: JobInput<N>,
    options: JobOptions,
  ): Promise<JobBytes> {
    return await this.#run(name, input, options) as JobBytes;
  }

  /** Starts no more jobs except for work; those that are running continue. */
  drain(): void {
    this.#isDraining = true;
    this.#port?.postMessage({ type: "drain" } satisfies ReportsRequest);
  }

  /** Ends the jobs of this thread. */
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
    name: JobName,
    input: JobInput<JobName>,
    { reader, signal }: JobOptions,
  ): Promise<unknown> {
    if (this.#isClosed || (this.#isDraining && !reader.isWork)) throw closedError();
    signal?.throwIfAborted();
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const job: OpenJob = {
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
    this.#open.set(id, job);
    try {
      this.#send({ type: "job", id, name, input, reader });
      return await promise;
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
    const job = this.#open.get(response.id);
    // Messages of a canceled job may still arrive.
    if (job === undefined) return;
    if (response.type === "started") job.isRunning = true;
    else if (response.type === "failed") this.#fail(response.id, receivedError(response.error));
    else if (response.type === "part") {
      job.isRunning = false;
      this.#deliver(response.id, job, response.bytes);
    } else {
      this.#open.delete(response.id);
      if (job.stream === undefined) return job.resolve(response.value);
      const last = response.value as Uint8Array<ArrayBuffer>;
      if (last.length > 0) job.stream.enqueue(last);
      job.stream.close();
      job.onPulled();
    }
  }

  #deliver(id: number, job: OpenJob, bytes: Uint8Array<ArrayBuffer>): void {
    if (job.stream !== undefined) {
      job.stream.enqueue(bytes);
      return job.onPulled();
    }
    let first: Uint8Array<ArrayBuffer> | null = bytes;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        job.stream = controller;
      },
      pull: (controller) => {
        if (first !== null) {
          controller.enqueue(first);
          first = null;
          return;
        }
        job.isRunning = true;
        this.#send({ type: "more", id });
        return new Promise<void>((resolve) => job.onPulled = resolve);
      },
      cancel: () => this.#cancel(id),
    }, { highWaterMark: 0 });
    job.resolve(body);
  }

  #fail(id: number, error: Error): void {
    const job = this.#open.get(id);
    this.#open.delete(id);
    if (job?.stream === undefined) return job?.reject(error);
    job.stream.error(error);
    job.onPulled();
  }
}

function closedError(): DatabaseError {
  return new DatabaseError("unavailable", "the reports thread is closed");
}
