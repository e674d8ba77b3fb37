// The reports thread: runs what takes long to read or to write, on a read-only connection of its own. One thread serves the
// process and keeps nothing that must not be lost.
import { type Database, DatabaseError, type DatabaseSource } from "../../db/engine/database.ts";
import { openReader } from "../../db/engine/open.ts";
import {
  reportClientTimeoutMs,
  reportSlicesRemoteMax,
  reportsOpenMax,
  reportsOpenPerReaderMax,
  reportsRunningPerReaderMax,
} from "../../domain/limits.ts";
import { sentError } from "../sent_errors.ts";
import type {
  ReportsRequest,
  ReportsResponse,
  ReportsThreadRequest,
  ReportsThreadResponse,
} from "./report_messages.ts";
import { ReportScheduler } from "./report_scheduler.ts";
import { runReport } from "./report_types.ts";

/** The part of a worker's global scope used here. */
interface WorkerScope {
  onmessage: ((event: MessageEvent<ReportsThreadRequest>) => void) | null;
  postMessage(response: ReportsThreadResponse): void;
  close(): void;
}

/** A report that has not finished. */
interface OpenReport {
  readonly cancel: AbortController;
  finished: Promise<void>;
  /** Ends the wait for the client. */
  more: () => void;
}

/** A thread that runs reports here, and its reports by id. */
interface Caller {
  readonly port: MessagePort;
  readonly reports: Map<number, OpenReport>;
  send(response: ReportsResponse, transfer?: Transferable[]): void;
}

class ReportsServer {
  readonly #scheduler: ReportScheduler;
  readonly #source: DatabaseSource;
  readonly #callers = new Set<Caller>();
  #database: Promise<Database> | undefined;

  constructor(source: DatabaseSource) {
    this.#scheduler = new ReportScheduler({
      slicesMax: source.kind === "remote" ? reportSlicesRemoteMax : 1,
      runningPerReaderMax: reportsRunningPerReaderMax,
      openPerReaderMax: reportsOpenPerReaderMax,
      openMax: reportsOpenMax,
    });
    this.#source = source;
  }

  connect(port: MessagePort): void {
    const caller: Caller = {
      port,
      reports: new Map(),
      send: (response, transfer = []) => port.postMessage(response, transfer),
    };
    this.#callers.add(caller);
    port.onmessage = ({ data }: MessageEvent<ReportsRequest>) => this.#handle(data, caller);
  }

  async close(): Promise<void> {
    this.#scheduler.drain();
    await Promise.all([...this.#callers].map(endReports));
    await this.#database?.then((database) => database.close(), () => {});
  }

  #handle(request: ReportsRequest, caller: Caller): void {
    if (request.type === "report") this.#start(request, caller);
    else if (request.type === "more") caller.reports.get(request.id)?.more();
    else if (request.type === "cancel") caller.reports.get(request.id)?.cancel.abort();
    else if (request.type === "drain") this.#scheduler.drain();
    else this.#disconnect(caller);
  }

  async #disconnect(caller: Caller): Promise<void> {
    await endReports(caller);
    this.#callers.delete(caller);
    caller.send({ type: "closed" });
    caller.port.close();
  }

  #open(): Promise<Database> {
    return this.#database ??= openReader(this.#source).catch((error) => {
      this.#database = undefined;
      throw error;
    });
  }

  #start(request: Extract<ReportsRequest, { type: "report" }>, caller: Caller): void {
    const report = { cancel: new AbortController(), more: () => {}, finished: Promise.resolve() };
    caller.reports.set(request.id, report);
    report.finished = this.#run(request, { caller, report });
  }

  async #run(
    { id, name, input, reader }: Extract<ReportsRequest, { type: "report" }>,
    { caller, report }: { caller: Caller; report: OpenReport },
  ): Promise<void> {
    let leave = () => {};
    try {
      const scheduled = this.#scheduler.enter(reader, report.cancel);
      leave = () => scheduled.leave();
      await scheduled.start();
      caller.send({ type: "started", id });
      const value = await runReport(name, {
        database: await this.#open(),
        pause: () => scheduled.pause(),
        head: (head) => caller.send({ type: "head", id, head }),
        send: (bytes) => {
          caller.send({ type: "part", id, bytes }, [bytes.buffer]);
          return scheduled.waitFor(untilMore(report));
        },
      }, input);
      const transfer = value instanceof Uint8Array ? [value.buffer as ArrayBuffer] : [];
      caller.send({ type: "done", id, value }, transfer);
    } catch (error) {
      caller.send({ type: "failed", id, error: sentError(error, "reports thread") });
    } finally {
      leave();
      caller.reports.delete(id);
    }
  }
}

async function endReports({ reports }: Caller): Promise<void> {
  const open = [...reports.values()];
  for (const { cancel } of open) cancel.abort();
  await Promise.all(open.map(({ finished }) => finished));
}

/** Waits until the client has taken what was sent, for a limited time. */
function untilMore(report: OpenReport): Promise<void> {
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

if ("DedicatedWorkerGlobalScope" in globalThis) {
  const scope = globalThis as unknown as WorkerScope;
  let server: ReportsServer | undefined;
  scope.onmessage = async ({ data }) => {
    if (data.type === "open") server = new ReportsServer(data.source);
    else if (data.type === "connect") server?.connect(data.port);
    else {
      await server?.close();
      scope.postMessage({ type: "closed" });
      scope.close();
    }
  };
}
