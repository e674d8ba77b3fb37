// The reports thread: runs what takes long to read or to write, on a read-only connection of its own. One thread serves the
// process and keeps nothing that must not be lost.
import { type Database, DatabaseError, type DatabaseSource } from "../../db/engine/database.ts";
import { openReader } from "../../db/engine/open.ts";
import {
  jobClientTimeoutMs,
  jobSlicesRemoteMax,
  jobsOpenMax,
  jobsOpenPerReaderMax,
  jobsRunningPerReaderMax,
} from "../../domain/limits.ts";
import { sentError } from "../sent_errors.ts";
import type {
  ReportsRequest,
  ReportsResponse,
  ReportsThreadRequest,
  ReportsThreadResponse,
} from "./job_messages.ts";
import { JobScheduler } from "./job_scheduler.ts";
import { runJob } from "./job_list.ts";

interface WorkerScope {
  onmessage: ((event: MessageEvent<ReportsThreadRequest>) => void) | null;
  postMessage(response: ReportsThreadResponse): void;
  close(): void;
}

interface OpenJob {
  readonly cancel: AbortController;
  finished: Promise<void>;
  /** Ends the wait for the client. */
  more: () => void;
}

/** A thread that runs jobs here, and its jobs by id. */
interface Caller {
  readonly port: MessagePort;
  readonly jobs: Map<number, OpenJob>;
  send(response: ReportsResponse, transfer?: Transferable[]): void;
}

class ReportsServer {
  readonly #scheduler: JobScheduler;
  readonly #source: DatabaseSource;
  readonly #callers = new Set<Caller>();
  #database: Promise<Database> | undefined;

  constructor(source: DatabaseSource) {
    this.#scheduler = new JobScheduler({
      slicesMax: source.kind === "remote" ? jobSlicesRemoteMax : 1,
      runningPerReaderMax: jobsRunningPerReaderMax,
      openPerReaderMax: jobsOpenPerReaderMax,
      openMax: jobsOpenMax,
    });
    this.#source = source;
  }

  connect(port: MessagePort): void {
    const caller: Caller = {
      port,
      jobs: new Map(),
      send: (response, transfer = []) => port.postMessage(response, transfer),
    };
    this.#callers.add(caller);
    port.onmessage = ({ data }: MessageEvent<ReportsRequest>) => this.#handle(data, caller);
  }

  async close(): Promise<void> {
    this.#scheduler.drain();
    await Promise.all([...this.#callers].map(endJobs));
    await this.#database?.then((database) => database.close(), () => {});
  }

  #handle(request: ReportsRequest, caller: Caller): void {
    if (request.type === "job") this.#start(request, caller);
    else if (request.type === "more") caller.jobs.get(request.id)?.more();
    else if (request.type === "cancel") caller.jobs.get(request.id)?.cancel.abort();
    else if (request.type === "drain") this.#scheduler.drain();
    else this.#disconnect(caller);
  }

  async #disconnect(caller: Caller): Promise<void> {
    await endJobs(caller);
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

  #start(request: Extract<ReportsRequest, { type: "job" }>, caller: Caller): void {
    const job = { cancel: new AbortController(), more: () => {}, finished: Promise.resolve() };
    caller.jobs.set(request.id, job);
    job.finished = this.#run(request, { caller, job });
  }

  async #run(
    { id, name, input, reader }: Extract<ReportsRequest, { type: "job" }>,
    { caller, job }: { caller: Caller; job: OpenJob },
  ): Promise<void> {
    let leave = () => {};
    try {
      const scheduled = this.#scheduler.enter(reader, job.cancel);
      leave = () => scheduled.leave();
      await scheduled.start();
      caller.send({ type: "started", id });
      const value = await runJob(name, {
        database: await this.#open(),
        pause: () => scheduled.pause(),
        send: (bytes) => {
          caller.send({ type: "part", id, bytes }, [bytes.buffer]);
          return scheduled.waitFor(untilMore(job));
        },
      }, input);
      const transfer = value instanceof Uint8Array ? [value.buffer as ArrayBuffer] : [];
      caller.send({ type: "done", id, value }, transfer);
    } catch (error) {
      caller.send({ type: "failed", id, error: sentError(error, "reports thread") });
    } finally {
      leave();
      caller.jobs.delete(id);
    }
  }
}

async function endJobs({ jobs }: Caller): Promise<void> {
  const open = [...jobs.values()];
  for (const { cancel } of open) cancel.abort();
  await Promise.all(open.map(({ finished }) => finished));
}

/** Waits until the client has taken all parts, for a limited time. */
function untilMore(job: OpenJob): Promise<void> {
  const { signal } = job.cancel;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = () => reject(signal.reason);
  const timer = setTimeout(
    () => job.cancel.abort(new DatabaseError("unavailable", "the client did not read its report")),
    jobClientTimeoutMs,
  );
  job.more = resolve;
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
