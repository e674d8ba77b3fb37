// Runs the thread of the continuous backup: starts it, logs for it, and reads the data file for its snapshots.
import type { Config } from "../config.ts";
import type { DatabaseShare } from "../db/engine/database.ts";
import { reading, type Resume, Spool } from "../db/engine/stream/spool.ts";
import { StreamState } from "../db/engine/stream/state.ts";
import type { StreamRequest, StreamResponse } from "../db/engine/stream/stream_worker.ts";
import { newTurnMemory } from "../db/engine/stream/turns.ts";
import { streamStopMs } from "../domain/stream_limits.ts";
import { requireDescriptorsForThread } from "./file_descriptors.ts";

export type StreamPlan = NonNullable<Config["stream"]>;

interface ContinuousBackupOptions {
  readonly path: string;
  readonly plan: StreamPlan;
  readonly log: Record<"info" | "warn" | "error", (message: string, values: Record<string, unknown>) => void>;
}

export class ContinuousBackup {
  readonly state = new StreamState();
  readonly #options: ContinuousBackupOptions;
  readonly #resume: Resume | null;
  /** For the writer. */
  readonly turns: SharedArrayBuffer;
  #worker: Worker | undefined;
  /** Stays open until the program ends: closing it would drop SQLite's locks of the file. */
  #file: Deno.FsFile | undefined;
  readonly #sealed = Promise.withResolvers<void>();
  readonly #stopped = Promise.withResolvers<void>();

  /** Looks for an earlier run's copy to continue. Call it with the lock of the data file, before that is opened. */
  constructor(options: ContinuousBackupOptions) {
    this.#options = options;
    this.#resume = new Spool(options.path).findResume(options.path, options.plan.keys);
    this.turns = newTurnMemory({ isHeld: this.#resume !== null });
  }

  /** Starts the thread. @param share Of the open database; its port isn't used. */
  start({ signal, port: unused }: DatabaseShare & { kind: "file" }): void {
    unused.close();
    requireDescriptorsForThread();
    const { path, plan, log } = this.#options;
    this.#file = Deno.openSync(path);
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }: MessageEvent<{ at: number; bytes: number }>) => this.#sendPages(port1, data);
    const worker = new Worker(new URL("../db/engine/stream/stream_worker.ts", import.meta.url), {
      type: "module",
    });
    worker.onmessage = ({ data }: MessageEvent<StreamResponse>) => {
      if (data.type === "log") log[data.level](data.message, data.values);
      else if (data.type === "sealed") this.#sealed.resolve();
      else this.#end();
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.state.setState("failed");
      log.error("the thread of the continuous backup has died", { error: event.message });
      this.#end();
    };
    const { turns, state: { buffer: state } } = this;
    const request: StreamRequest = { path, plan, resume: this.#resume, turns, signal, state, pages: port2 };
    worker.postMessage(request, [port2]);
    this.#worker = worker;
  }

  /** Copies the rest. The database must still be open, and nothing may be written any more. */
  async seal(): Promise<void> {
    this.#worker?.postMessage({ stop: true });
    if (this.#worker !== undefined) await this.#sealed.promise;
  }

  /** Waits a few seconds for the last uploads, after {@linkcode seal}. */
  async finish(): Promise<void> {
    if (this.#worker === undefined) return;
    // The thread keeps to this itself unless it hangs.
    const timer = setTimeout(() => this.#end(), streamStopMs + 1_500);
    await this.#stopped.promise;
    clearTimeout(timer);
  }

  #end(): void {
    this.#worker?.terminate();
    this.#sealed.resolve();
    this.#stopped.resolve();
  }

  #sendPages(port: MessagePort, { at, bytes }: { at: number; bytes: number }): void {
    try {
      // Without waiting: Deno's other methods use a copy of the descriptor, and closing that drops the locks, too.
      const read = reading(this.#file as Deno.FsFile);
      const buffer = new Uint8Array(bytes);
      port.postMessage(buffer.subarray(0, read(buffer, at)));
    } catch (error) {
      port.postMessage(String(error));
    }
  }
}
