// The thread of a continuous backup: copies the log, uploads segments in order, and makes a snapshot a day.
import type { StreamTarget } from "../../../domain/stream_settings.ts";
import { messageOf } from "../../../domain/errors.ts";
import {
  streamOwnerCheckMs,
  streamRetryMs,
  streamSnapshotEveryMs,
  streamStopMs,
  streamTickMs,
} from "../../../domain/stream_limits.ts";
import { Connection } from "../connection.ts";
import type { WriterSignal } from "../writer.ts";
import { Copier } from "./copier.ts";
import { LogGap } from "./log_reader.ts";
import { ForeignTarget, Owner } from "./owner.ts";
import {
  copySnapshot,
  lastSegmentAt,
  listManifests,
  prune,
  putManifest,
  SnapshotStopped,
} from "./snapshots.ts";
import { type Resume, Spool } from "./spool.ts";
import { StreamState } from "./state.ts";
import { openTarget, type Target } from "./target.ts";
import { CopierTurns, type TurnMemory } from "./turns.ts";

export interface StreamRequest {
  readonly path: string;
  readonly plan: {
    readonly target: StreamTarget;
    readonly seconds: number;
    readonly spoolBytesMax: number;
    readonly keys: readonly Uint8Array[];
    readonly keepDays: number;
  };
  readonly resume: Resume | null;
  readonly turns: TurnMemory;
  readonly signal: WriterSignal;
  readonly state: SharedArrayBuffer;
  /** Sends `{ at, bytes }`, and receives bytes of the data file: only the main thread may open it. */
  readonly pages: MessagePort;
}

export type StreamResponse =
  | {
    readonly type: "log";
    readonly level: "info" | "warn" | "error";
    readonly message: string;
    readonly values: Record<string, unknown>;
  }
  /** `sealed`: the database may be closed. */
  | { readonly type: "sealed" | "stopped" };

interface WorkerScope {
  onmessage: ((event: MessageEvent<StreamRequest | { stop: true }>) => void) | null;
  postMessage(response: StreamResponse): void;
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const dayMs = 24 * 3_600_000;

const failures = {
  own: "the target of the continuous backup is in use",
  copy: "copying the log failed",
  seal: "the last segment of the continuous backup failed",
  upload: "the target of the continuous backup can't be used",
  snapshot: "the snapshot of the continuous backup failed",
} as const;

class Stream {
  readonly #request: StreamRequest;
  readonly #post: (response: StreamResponse) => void;
  readonly #target: Target;
  readonly #spool: Spool;
  readonly #state: StreamState;
  readonly #connection: Connection;
  readonly #copier: Copier;
  readonly #owner: Owner;
  #isStopping = false;
  readonly #stopping = Promise.withResolvers<null>();
  /** True once no former run can be using the target any more. */
  #isOwner = false;
  /** The time until which a stop waits for uploads. */
  #stopAt = Infinity;
  #uploaded: string | null = null;
  /** The chain and the time of the newest complete snapshot. */
  #snapshot: { chain: string; at: number } | null = null;
  /** True once the target was asked for a snapshot of this chain. */
  #knowsSnapshots = false;
  /** The message of what fails, by what that is. */
  readonly #problems = new Map<keyof typeof failures, string>();
  #wait: { promise: Promise<void>; resolve: () => void } = Promise.withResolvers<void>();

  constructor(request: StreamRequest, post: (response: StreamResponse) => void) {
    this.#request = request;
    this.#post = post;
    const { path, plan, resume, turns, signal, state } = request;
    this.#target = openTarget(plan.target);
    this.#spool = new Spool(path);
    this.#state = new StreamState(state);
    this.#connection = new Connection(path, { readOnly: true });
    this.#copier = new Copier({
      ...plan,
      path,
      connection: this.#connection,
      spool: this.#spool,
      turns: new CopierTurns(turns, signal),
      clock: Date.now,
    });
    this.#owner = new Owner(this.#target, { server: this.#spool.serverId(), clock: () => performance.now() });
    if (resume === null) this.#state.setState("gap");
    else this.#resume(resume);
  }

  #resume(resume: Resume): void {
    this.#copier.resume(resume);
    // Since it was sealed, only a command that opened and closed the file before this server did can have changed it. What was
    // committed after that is in the log.
    if (resume.isSealed && !this.#spool.isSealed(this.#request.path, resume.head.number)) {
      this.#noteGap(new LogGap("a command changed the data file while the server was starting"));
    }
  }

  async run(): Promise<void> {
    const working = [this.#keepUploading(), this.#keepSnapshots()];
    await this.#keepCopying();
    try {
      if (this.#copier.chain !== null) this.#copier.seal();
    } catch (error) {
      this.#fail("seal", error);
    }
    this.#copier.close();
    this.#connection.close();
    // A later change has another time, however coarse the clock of the file system is.
    await pause(20);
    this.#post({ type: "sealed" });
    this.#stopAt = performance.now() + streamStopMs;
    this.#wake();
    await Promise.race([Promise.all(working), pause(streamStopMs + 500)]);
    await Promise.race([this.#owner.end().catch(() => {}), pause(500)]);
  }

  stop(): void {
    this.#isStopping = true;
    this.#stopping.resolve(null);
    this.#wake();
  }

  async #keepCopying(): Promise<void> {
    const everyMs = this.#request.plan.seconds * 1000;
    let copiedAt = -Infinity;
    while (!this.#isStopping) {
      const at = Date.now();
      const startedAt = performance.now();
      // Timers may be a little early.
      const isDue = startedAt >= copiedAt + everyMs - streamTickMs / 2;
      try {
        if (this.#copier.chain === null) {
          await this.#begin();
          copiedAt = -Infinity;
        } else {
          if (isDue) copiedAt = startedAt;
          const isCopied = this.#copier.step({ isDue });
          this.#note(isCopied ? at : null);
          if (isCopied) this.#noteSuccess("copy");
        }
      } catch (error) {
        if (error instanceof LogGap) this.#noteGap(error);
        else this.#fail("copy", error);
      }
      this.#wake();
      await this.#pause(Math.max(50, streamTickMs - (performance.now() - startedAt)));
    }
  }

  /** Begins a new chain once the target can be reached and has everything from before. */
  async #begin(): Promise<void> {
    if (!this.#isOwner || this.#waiting().length > 0) return;
    // A stop doesn't wait for the target.
    const found = await Promise.race([lastSegmentAt(this.#target), this.#stopping.promise]);
    const last = Math.max(this.#spool.segments.at(-1)?.number ?? 0, found?.number ?? 0);
    if (this.#isStopping || !this.#copier.begin(last)) return;
    this.#knowsSnapshots = true;
    this.#snapshot = null;
    this.#state.setState("snapshot");
    this.#log("info", "continuous backup starts over with a new snapshot", { after: last });
  }

  #noteGap(error: LogGap): void {
    this.#copier.end();
    this.#state.count("gaps");
    this.#state.setState("gap");
    this.#log("error", "gap in the continuous backup: a new snapshot follows", { error: error.message });
  }

  /**
   * Notes that everything from before a time is safe, if nothing waits for its upload.
   *
   * @param at In milliseconds since 1970; null if the log wasn't copied.
   */
  #note(at: number | null): void {
    this.#state.setSpoolBytes(this.#spool.bytes);
    if (!this.#isRestorable()) return;
    if (at !== null && this.#waiting().length === 0) this.#state.setSafeAt(at);
    this.#state.setState("ok");
  }

  #isRestorable(): boolean {
    const { chain } = this.#copier;
    return chain !== null && this.#snapshot?.chain === chain.name;
  }

  /** Returns the segments that wait for their upload. */
  #waiting() {
    const isUploaded = this.#spool.segments[0]?.name === this.#uploaded;
    return isUploaded ? this.#spool.segments.slice(1) : this.#spool.segments;
  }

  async #keepUploading(): Promise<void> {
    let retryMs: number = streamRetryMs[0];
    while (this.#stopAt === Infinity || (this.#waiting().length > 0 && performance.now() < this.#stopAt)) {
      try {
        const waitMs = await this.#owner.check();
        if (waitMs !== null) {
          for (const end = performance.now() + waitMs; performance.now() < end;) {
            if (this.#isStopping) return;
            await this.#pause(end - performance.now());
          }
        }
        if (!this.#isOwner) await this.#leaveForeignChain();
        this.#isOwner = true;
        this.#noteSuccess("own");
        const isMore = await this.#uploadNext();
        this.#noteSuccess("upload");
        retryMs = streamRetryMs[0];
        if (!isMore) await this.#pause(1_000);
      } catch (error) {
        if (error instanceof ForeignTarget) {
          if (this.#isStopping) return;
          this.#refuse(error);
          await Promise.race([pause(streamOwnerCheckMs), this.#stopping.promise]);
          continue;
        }
        this.#fail("upload", error);
        await pause(Math.min(retryMs, Math.max(0, this.#stopAt - performance.now())));
        retryMs = Math.min(retryMs * 2, streamRetryMs[1]);
      }
    }
  }

  /** Begins again if the target has not what this run continues, as when a copy of this machine has written to it. */
  async #leaveForeignChain(): Promise<void> {
    if (this.#spool.continues(await lastSegmentAt(this.#target))) return;
    while (this.#spool.segments.length > 0) this.#spool.removeFirst();
    if (this.#copier.chain !== null) {
      this.#noteGap(new LogGap("the target has not what this copy continues"));
    }
  }

  async #uploadNext(): Promise<boolean> {
    const [next] = this.#waiting();
    if (next === undefined) return false;
    await this.#target.put(next.name, this.#spool.read(next.name));
    this.#uploaded = next.name;
    while (this.#spool.segments[0]?.name !== next.name) this.#spool.removeFirst();
    if (this.#isRestorable() && next.safeAt > 0) this.#state.setSafeAt(next.safeAt);
    return true;
  }

  /** Stops copying until the target is free. */
  #refuse(error: ForeignTarget): void {
    this.#isOwner = false;
    if (this.#copier.chain !== null) this.#copier.end();
    this.#state.setState("refused");
    this.#fail("own", error);
  }

  async #keepSnapshots(): Promise<void> {
    while (!this.#isStopping) {
      await this.#pause(500);
      if (this.#isStopping || this.#copier.chain === null || !this.#isOwner) continue;
      try {
        await this.#findSnapshot();
        // Its age is negative after the clock was set back.
        const ageMs = Date.now() - (this.#snapshot?.at ?? 0);
        if (ageMs < 0 || ageMs >= streamSnapshotEveryMs) await this.#makeSnapshot();
        this.#noteSuccess("snapshot");
      } catch (error) {
        if (error instanceof SnapshotStopped || this.#isStopping) continue;
        this.#fail("snapshot", error);
        await Promise.race([pause(streamRetryMs[1]), this.#stopping.promise]);
      }
    }
  }

  async #findSnapshot(): Promise<void> {
    const { chain } = this.#copier;
    if (this.#knowsSnapshots || chain === null) return;
    const found = (await listManifests(this.#target)).findLast((one) => one.chain === chain.name);
    this.#snapshot = found === undefined ? null : { chain: chain.name, at: found.endedAt };
    this.#knowsSnapshots = true;
  }

  async #makeSnapshot(): Promise<void> {
    const { chain } = this.#copier;
    if (chain === null || chain.number < chain.roundFrom) return;
    const startedAt = Date.now();
    const stopIfEnded = () => {
      const isCurrent = this.#copier.chain?.name === chain.name && this.#copier.isHeld;
      if (this.#isStopping || !isCurrent) throw new SnapshotStopped();
    };
    const { keys, keepDays } = this.#request.plan;
    const target = this.#target;
    const begun = await copySnapshot(chain, {
      target,
      keys,
      readPages: (at, bytes) => this.#readPages(at, bytes),
      rest: async (workedMs) => {
        stopIfEnded();
        await pause(workedMs);
      },
    });
    stopIfEnded();
    // The data file has nothing that isn't copied, so the last segment is enough.
    const to = this.#copier.chain?.number ?? 0;
    while ((this.#waiting()[0]?.number ?? Infinity) <= to) {
      stopIfEnded();
      await pause(100);
    }
    stopIfEnded();
    const now = Date.now();
    await putManifest({ ...begun, to }, { target, keys, now });
    this.#snapshot = { chain: chain.name, at: now };
    this.#log("info", "snapshot of the continuous backup written", {
      bytes: begun.bytes,
      ms: now - startedAt,
    });
    try {
      await prune(target, { keys, keepSince: now - keepDays * dayMs });
    } catch (error) {
      this.#log("warn", "old parts of the continuous backup can't be removed", { error: messageOf(error) });
    }
  }

  #readPages(at: number, bytes: number): Promise<Uint8Array> {
    const { pages } = this.#request;
    return new Promise((resolve, reject) => {
      pages.onmessage = ({ data }: MessageEvent<Uint8Array | string>) => {
        if (typeof data === "string") reject(new Error(data));
        else resolve(data);
      };
      pages.postMessage({ at, bytes });
    });
  }

  /** Counts a failure, and logs the first of several. */
  #fail(what: keyof typeof failures, error: unknown): void {
    this.#state.count("failures");
    const message = messageOf(error);
    if (this.#problems.get(what) !== message) this.#log("error", failures[what], { error: message });
    this.#problems.set(what, message);
  }

  #noteSuccess(what: keyof typeof failures): void {
    if (!this.#problems.delete(what) || this.#problems.size > 0) return;
    this.#log("info", "continuous backup works again", {});
  }

  #log(level: "info" | "warn" | "error", message: string, values: Record<string, unknown>): void {
    this.#post({ type: "log", level, message, values });
  }

  #wake(): void {
    this.#wait.resolve();
    this.#wait = Promise.withResolvers<void>();
  }

  /** Waits, at most until something happens. */
  async #pause(ms: number): Promise<void> {
    const { promise } = this.#wait;
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([promise, new Promise<void>((resolve) => timer = setTimeout(resolve, ms))]);
    clearTimeout(timer);
  }
}

if ("DedicatedWorkerGlobalScope" in globalThis) {
  const scope = globalThis as unknown as WorkerScope;
  let stream: Stream | undefined;
  scope.onmessage = async ({ data }) => {
    if ("stop" in data) return stream?.stop();
    stream = new Stream(data, (response) => scope.postMessage(response));
    await stream.run();
    data.pages.close();
    scope.postMessage({ type: "stopped" });
  };
}
