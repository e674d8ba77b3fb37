// The queue in a folder: a record that was appended survives the end of the process, however it ends.
import { Buffer } from "node:buffer";
import * as fs from "node:fs";
import { dirname, join } from "node:path";
import { clearInterval, setInterval } from "node:timers";
import { adoptAbandoned, ownedPath, rejectedFile, releasedPath } from "./adoption.ts";
import { makeFolder, openToAppend } from "./folder.ts";
import type { Problems } from "./problems.ts";
import type { BatchSize, Line, MemoryQueue, Queue } from "./queue.ts";
import { Segment, type SegmentLine } from "./segment.ts";

const segmentBytesMax = 8 * 1024 * 1024;
const rejectedBytesMax = 256 * 1024 * 1024;
const tickMs = 60_000;
const retryMs = 1_000;
const segmentsMax = 100;

/** `memory` takes over when the disk fails. */
interface SpoolOptions {
  readonly folder: string;
  readonly bytesMax: number;
  readonly memory: MemoryQueue;
  readonly problems: Problems;
  /** Called when records of other processes were adopted. */
  readonly onAdopted: () => void;
}

/** A queue on disk. Memory holds only the batch that is sent. */
export class SpoolQueue implements Queue {
  readonly counts = { adopted: 0, damaged: 0 };
  readonly #options: SpoolOptions;
  /** Segments in the order of sending. */
  #segments: Segment[] = [];
  /** The one that takes new records. */
  #current: Segment | undefined;
  readonly #taken = new Set<Line>();
  #newest = 0;
  #failedAt = -Infinity;
  readonly #unsynced = new Set<Segment>();
  #isFolderSynced = true;
  #syncedUntil = 0;
  #syncing: Promise<boolean> | undefined;
  readonly #timer = setInterval(() => this.tick(), tickMs).unref();

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.tick();
  }

  get count(): number {
    return this.#sum(({ count }) => count) + this.#options.memory.count;
  }

  get bytes(): number {
    return this.#sum(({ unreadBytes }) => unreadBytes) + this.#options.memory.bytes;
  }

  get newest(): number {
    return this.#newest;
  }

  get oldest(): number {
    const [taken] = this.#taken;
    return Math.min(
      taken?.sequence ?? Infinity,
      this.#options.memory.oldest,
      ...this.#segments.map(({ oldest }) => oldest),
    );
  }

  push(text: string): boolean {
    const sequence = this.#newest + 1;
    let isKept = false;
    if (performance.now() - this.#failedAt >= retryMs) {
      const line = Buffer.from(`${text}\n`);
      if (this.#sum(({ size }) => size) + line.length > this.#options.bytesMax) return false;
      try {
        this.#append(line, sequence);
        isKept = true;
      } catch (error) {
        this.#failedAt = performance.now();
        // Earlier lines are still sent.
        this.#current = undefined;
        this.#finish();
        this.#report("can't write; records wait in memory", error);
      }
    }
    if (!isKept && !this.#options.memory.push(text, sequence)) return false;
    this.#newest = sequence;
    if (isKept && this.#syncing === undefined) this.#startSync();
    return true;
  }

  take(size: BatchSize): Line[] {
    const inMemory = this.#options.memory.take(size);
    if (inMemory.length > 0) return inMemory;
    for (const segment of [...this.#segments]) {
      try {
        const { lines, damaged } = segment.take(size);
        this.counts.damaged += damaged;
        if (damaged > 0) this.#report(`${segment.path}: ${damaged} damaged lines skipped`);
        for (const line of lines) this.#taken.add(line);
        if (lines.length > 0) return lines;
      } catch (error) {
        this.#report(`can't read ${segment.path}; the next process tries again`, error);
        this.#forget(segment);
      }
    }
    this.#finish();
    return [];
  }

  settle(lines: readonly Line[]): void {
    this.#options.memory.settle(lines);
    const bySegment = new Map<Segment, SegmentLine[]>();
    for (const line of lines) {
      this.#taken.delete(line);
      if (!isSegmentLine(line)) continue;
      const group = bySegment.get(line.segment) ?? [];
      bySegment.set(line.segment, group);
      group.push(line);
    }
    for (const [segment, group] of bySegment) this.#try(() => segment.settle(group));
    this.#finish();
  }

  async keepRejected(lines: readonly Line[]): Promise<void> {
    const text = lines.map((line) => `${line.text}\n`).join("");
    try {
      const file = await openToAppend(join(this.#options.folder, rejectedFile));
      try {
        const { size } = await file.stat();
        if (size + text.length > rejectedBytesMax) throw new Error("the file is full");
        await file.appendFile(text);
        await file.sync();
        if (size === 0) await syncFolder(this.#options.folder);
      } finally {
        await file.close();
      }
    } catch (error) {
      this.#report(`can't keep ${lines.length} rejected records in ${rejectedFile}`, error);
    }
  }

  async sync(): Promise<boolean> {
    const until = this.#newest;
    while (this.#syncedUntil < until) {
      if (!await (this.#syncing ?? this.#startSync())) return false;
    }
    return this.#options.memory.count === 0;
  }

  async close(): Promise<number> {
    clearInterval(this.#timer);
    const { memory, folder } = this.#options;
    this.#try(() => {
      for (const line of memory.lines()) {
        this.#append(Buffer.from(`${line.text}\n`), line.sequence);
        memory.settle([line]);
      }
    });
    for (const segment of this.#segments) {
      // Another sync may be under way, and the records in memory were appended just now.
      if (segment.count > 0) this.#try(() => segment.syncNow());
      segment.close();
      this.#try(() =>
        segment.count > 0 ? fs.renameSync(segment.path, releasedPath(folder)) : fs.unlinkSync(segment.path)
      );
    }
    // Later records go to a new segment, which the next process adopts.
    this.#current = undefined;
    const lost = memory.close();
    if (this.#segments.length > 0) await syncFolder(folder);
    return lost;
  }

  /** Shows others that this process is alive, and adopts the segments of those that are not. */
  tick(): void {
    const now = new Date();
    for (const segment of this.#segments) {
      try {
        fs.utimesSync(segment.path, now, now);
      } catch {
        // It was moved. It can still be read, but new records go to a new one.
        if (segment === this.#current) this.#current = undefined;
      }
    }
    this.#try(() => {
      makeFolder(this.#options.folder);
      for (const path of adoptAbandoned(this.#options.folder)) {
        this.#try(() => this.#adopt(path));
        // Each has a descriptor. The rest is adopted later.
        if (this.#segments.length >= segmentsMax) break;
      }
      this.#finish();
      this.#options.onAdopted();
    });
  }

  #adopt(path: string): void {
    const segment = new Segment(path, { isNew: false });
    this.#segments.unshift(segment);
    this.counts.adopted += segment.count;
  }

  #append(line: Buffer, sequence: number): void {
    const segment = this.#appendOnce(line, sequence);
    if (segment.isInPlace) return;
    segment.retract(line);
    this.#current = undefined;
    this.#appendOnce(line, sequence);
  }

  #appendOnce(line: Buffer, sequence: number): Segment {
    const bytesMax = Math.min(segmentBytesMax, this.#options.bytesMax / 4);
    if (this.#current !== undefined && this.#current.size + line.length > bytesMax) this.#current = undefined;
    if (this.#current === undefined) {
      makeFolder(this.#options.folder);
      this.#current = new Segment(ownedPath(this.#options.folder), { isNew: true });
      this.#segments.push(this.#current);
      this.#isFolderSynced = false;
    }
    this.#current.append(line, sequence);
    this.#unsynced.add(this.#current);
    return this.#current;
  }

  /** Syncs all appended records, and then those appended meanwhile. Returns true if the first sync succeeded. */
  #startSync(): Promise<boolean> {
    this.#syncing = this.#syncOnce().then((isSynced) => {
      this.#syncing = undefined;
      if (isSynced && this.#unsynced.size > 0) this.#startSync();
      return isSynced;
    });
    return this.#syncing;
  }

  async #syncOnce(): Promise<boolean> {
    const until = this.#newest;
    const segments = [...this.#unsynced];
    this.#unsynced.clear();
    try {
      for (const segment of segments) await segment.sync();
      const isFolderSynced = this.#isFolderSynced;
      this.#isFolderSynced = true;
      if (!isFolderSynced) await syncFolder(this.#options.folder);
      this.#syncedUntil = Math.max(this.#syncedUntil, until);
      return true;
    } catch (error) {
      for (const segment of segments) this.#unsynced.add(segment);
      this.#report("can't sync", error);
      return false;
    }
  }

  /** Deletes segments whose records are all settled, and empties the one that takes new records. */
  #finish(): void {
    for (const segment of this.#segments.filter(({ isDone }) => isDone)) {
      this.#try(() => {
        if (segment !== this.#current) {
          this.#forget(segment);
          fs.unlinkSync(segment.path);
        } else if (segment.size > 0) segment.clear();
      });
    }
  }

  #forget(segment: Segment): void {
    this.#segments = this.#segments.filter((other) => other !== segment);
    this.#unsynced.delete(segment);
    if (this.#current === segment) this.#current = undefined;
    segment.close();
  }

  #sum(of: (segment: Segment) => number): number {
    return this.#segments.reduce((sum, segment) => sum + of(segment), 0);
  }

  /** Acts where a failure does no harm: at worst, records are sent twice. */
  #try(act: () => void): void {
    try {
      act();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.#report("can't update the spool", error);
    }
  }

  #report(what: string, error?: unknown): void {
    const why = error instanceof Error ? `: ${error.message}` : "";
    this.#options.problems.report("spool", { reason: `spool ${this.#options.folder}: ${what}${why}` });
  }
}

function isSegmentLine(line: Line): line is SegmentLine {
  return "segment" in line;
}

/** Makes the names of new files durable, and that of a new folder, where the system can. */
async function syncFolder(folder: string): Promise<void> {
  for (const path of [folder, dirname(folder)]) {
    const file = await fs.promises.open(path, "r").catch(() => undefined);
    await file?.sync().catch(() => {});
    await file?.close();
  }
}
