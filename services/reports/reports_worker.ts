// The reports thread: runs what takes long to read or to write, on a read-only connection of its own. One thread serves the
// process and keeps nothing that must not be lost.
import { type Database, DatabaseError, type DatabaseSource } from "../../db/engine/database.ts";
import { openReader } from "../../db/engine/open.ts";
import {
  reportClientTimeoutMs,
  reportSlicesRemoteMax,
  reportsOpenMax,
  reportsOpenPerOrganizationMax,
  reportsRunningPerOrganizationMax,
} from "../../domain/limits.ts";
import { type ReportsRequest, type ReportsResponse, sentError } from "./report_messages.ts";
import { ReportScheduler } from "./report_scheduler.ts";
import { runReport } from "./report_types.ts";

/** The part of a worker's global scope used here. */
interface WorkerScope {
  onmessage: ((event: MessageEvent<ReportsRequest>) => void) | null;
  postMessage(response: ReportsResponse, transfer?: Transferable[]): void;
  close(): void;
}

/** A report that has not finished. */
interface OpenReport {
  readonly cancel: AbortController;
  finished: Promise<void>;
  /** Ends the wait for the client. */
  more: () => void;
}

class ReportsThread {
  readonly #scope: WorkerScope;
  readonly #scheduler: ReportScheduler;
  readonly #source: DatabaseSource;
  #database: Promise<Database> | undefined;
  readonly #reports = new Map<number, OpenReport>();

  constructor(scope: WorkerScope, source: DatabaseSource) {
    this.#scope = scope;
    this.#scheduler = new ReportScheduler({
      slicesMax: source.kind === "remote" ? reportSlicesRemoteMax : 1,
      runningPerOrganizationMax: reportsRunningPerOrganizationMax,
      openPerOrganizationMax: reportsOpenPerOrganizationMax,
      openMax: reportsOpenMax,
    });
    this.#source = source;
    // Now, while there are free file descriptors. If it fails, the first report tries again.
    this.#open().catch(() => {});
  }

  #open(): Promise<Database> {
    return this.#database ??= openReader(this.#source).catch((error) => {
      this.#database = undefined;
      throw error;
    });
  }

  handle(request: Exclude<ReportsRequest, { type: "open" }>): void {
    if (request.type === "report") this.#start(request);
    else if (request.type === "more") this.#reports.get(request.id)?.more();
    else if (request.type === "cancel") this.#reports.get(request.id)?.cancel.abort();
    else if (request.type === "drain") this.#scheduler.drain();
    else this.#close();
  }

  #start(request: Extract<ReportsRequest, { type: "report" }>): void {
    const report = { cancel: new AbortController(), more: () => {}, finished: Promise.resolve() };
    this.#reports.set(request.id, report);
    report.finished = this.#run(request, report);
  }

  async #run(
    { id, name, input }: Extract<ReportsRequest, { type: "report" }>,
    report: OpenReport,
  ): Promise<void> {
    let leave = () => {};
    try {
      const scheduled = this.#scheduler.enter(input.organizationId, report.cancel);
      leave = () => scheduled.leave();
      await scheduled.start();
      this.#scope.postMessage({ type: "started", id });
      const value = await runReport(name, {
        database: await this.#open(),
        pause: () => scheduled.pause(),
        head: (head) => this.#scope.postMessage({ type: "head", id, head }),
        send: (bytes) => {
          this.#scope.postMessage({ type: "part", id, bytes }, [bytes.buffer]);
          return scheduled.waitFor(this.#untilMore(report));
        },
      }, input);
      const transfer = value instanceof Uint8Array ? [value.buffer as ArrayBuffer] : [];
      this.#scope.postMessage({ type: "done", id, value }, transfer);
    } catch (error) {
      this.#scope.postMessage({ type: "failed", id, error: sentError(error) });
    } finally {
      leave();
      this.#reports.delete(id);
    }
  }

  /** Waits until the client has taken what was sent, for a limited time. */
  #untilMore(report: OpenReport): Promise<void> {
    const { signal } = report.cancel;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = () => reject(signal.reason);
    const timer = setTimeout(
      () => report.cancel.abort(new DatabaseError("unavailable", "the client did not read its report")),
      reportClientTimeoutMs,
    );
    report.more = resolve;
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort);
    return promise.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    });
  }

  async #close(): Promise<void> {
    this.#scheduler.drain();
    for (const { cancel } of this.#reports.values()) cancel.abort();
    await Promise.all([...this.#reports.values()].map(({ finished }) => finished));
    await this.#database?.then((database) => database.close(), () => {});
    this.#scope.postMessage({ type: "closed" });
    this.#scope.close();
  }
}

if ("DedicatedWorkerGlobalScope" in globalThis) {
  const scope = globalThis as unknown as WorkerScope;
  let thread: ReportsThread | undefined;
  scope.onmessage = ({ data }) => {
    if (data.type === "open") thread = new ReportsThread(scope, data.source);
    else thread?.handle(data);
  };
}
