// One file of a spool: a record in each line. Settled lines are overwritten with blanks, so that another process sends only the rest.
import { Buffer } from "node:buffer";
import * as fs from "node:fs";
import { openFile } from "./folder.ts";
import type { BatchSize, Line } from "./queue.ts";
import { lineBytesMax, parseLine } from "./record.ts";

const newline = 0x0a;
const blank = 0x20;
const readBytes = 1024 * 1024;

export interface SegmentLine extends Line {
  readonly segment: Segment;
  /** Its first byte, and that after its line break. */
  readonly start: number;
  readonly end: number;
}

/** A file that this process owns: only it writes to it and deletes it. */
export class Segment {
  readonly path: string;
  readonly #fd: number;
  /** The bytes to read. What a failed write left beyond them is overwritten or ignored. */
  #size: number;
  /** The position of the next line to take. */
  #position = 0;
  /** Lines that were not taken, and lines that were taken but not settled. */
  #waiting = 0;
  #taken = 0;
  /** The number of the next record to take; 0 in an adopted file. */
  #sequence = 0;
  #syncing: Promise<void> | undefined;
  #isClosed = false;

  constructor(path: string, { isNew }: { isNew: boolean }) {
    this.path = path;
    this.#fd = isNew ? fs.openSync(path, "wx+", 0o600) : openFile(path);
    this.#size = isNew ? 0 : fs.fstatSync(this.#fd).size;
    if (!isNew) this.#waiting = this.#countLines();
  }

  get size(): number {
    return this.#size;
  }

  get count(): number {
    return this.#waiting + this.#taken;
  }

  get unreadBytes(): number {
    return this.#size - this.#position;
  }

  /** The number of the oldest record that was not taken, or Infinity. */
  get oldest(): number {
    return this.#waiting > 0 ? this.#sequence : Infinity;
  }

  get isDone(): boolean {
    return this.#taken === 0 && this.#position >= this.#size;
  }

  /** @throws When the disk is full or fails. Then the file is as before. */
  append(line: Buffer, sequence: number): void {
    const written = fs.writeSync(this.#fd, line, 0, line.length, this.#size);
    if (written < line.length) throw new Error("the disk is full");
    if (this.#waiting === 0) this.#sequence = sequence;
    this.#size += line.length;
    this.#waiting++;
  }

  /**
   * True if the file has its name. Another process that takes it over, because this one seems to be gone, renames it before it
   * reads it: if this is true after a line was appended, the other one reads the line.
   */
  get isInPlace(): boolean {
    return fs.existsSync(this.path);
  }

  /** Forgets the last line that was appended. */
  retract(line: Buffer): void {
    this.#size -= line.length;
    this.#waiting--;
  }

  /** Takes lines; none at the end of the file. Counts the damaged ones in between. */
  take({ records, bytes }: BatchSize): { lines: SegmentLine[]; damaged: number } {
    const lines: SegmentLine[] = [];
    let damaged = 0;
    while (lines.length === 0 && this.#position < this.#size) {
      const chunk = this.#read(Math.max(bytes, lineBytesMax + 1));
      let start = 0;
      while (start < chunk.length && lines.length < records) {
        const found = chunk.indexOf(newline, start);
        // A line without its end is read with the next chunk, unless it is too long for a line.
        if (found === -1 && start > 0 && this.#position + chunk.length < this.#size) break;
        const end = found === -1 ? chunk.length : found + 1;
        const text = chunk.toString("utf8", start, end).trim();
        if (lines.length > 0 && end > bytes) break;
        if (parseLine(text) !== null) {
          const place = { start: this.#position + start, end: this.#position + end };
          lines.push({ text, sequence: this.#sequence && this.#sequence++, segment: this, ...place });
        } else if (text !== "") damaged++;
        start = end;
      }
      this.#position += start;
      // The file is shorter than it was.
      if (chunk.length === 0) this.#position = this.#size;
    }
    this.#taken += lines.length;
    this.#waiting = this.#position < this.#size ? Math.max(this.#waiting - lines.length - damaged, 0) : 0;
    return { lines, damaged };
  }

  /** Marks taken lines, in their order, as settled. */
  settle(lines: readonly SegmentLine[]): void {
    this.#taken -= lines.length;
    if (this.isDone || this.#isClosed) return;
    let run: { start: number; end: number } | undefined;
    for (const { start, end } of lines) {
      if (run?.end === start) run.end = end;
      else {
        this.#blankOut(run);
        run = { start, end };
      }
    }
    this.#blankOut(run);
  }

  clear(): void {
    fs.ftruncateSync(this.#fd, 0);
    this.#size = this.#position = 0;
  }

  /** Waits until all that was appended is on disk. One call at a time. */
  async sync(): Promise<void> {
    if (this.#isClosed) return;
    this.#syncing = new Promise((resolve, reject) =>
      fs.fdatasync(this.#fd, (error) => error ? reject(error) : resolve())
    );
    await this.#syncing.finally(() => this.#syncing = undefined);
  }

  /** Blocks until all that was appended is on disk. */
  syncNow(): void {
    fs.fdatasyncSync(this.#fd);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const close = () => fs.closeSync(this.#fd);
    // A descriptor that is closed while it is synced may be that of another file by then.
    if (this.#syncing === undefined) close();
    else this.#syncing.then(close, close);
  }

  #blankOut(run: { start: number; end: number } | undefined): void {
    if (run === undefined) return;
    const blanks = Buffer.alloc(run.end - run.start, blank);
    blanks[blanks.length - 1] = newline;
    fs.writeSync(this.#fd, blanks, 0, blanks.length, run.start);
  }

  #read(bytes: number, position = this.#position): Buffer {
    const chunk = Buffer.alloc(Math.min(bytes, this.#size - position));
    return chunk.subarray(0, fs.readSync(this.#fd, chunk, 0, chunk.length, position));
  }

  #countLines(): number {
    let count = 0;
    let isLineStart = true;
    for (let position = 0; position < this.#size;) {
      const chunk = this.#read(readBytes, position);
      // Searching for each line break takes more than twice as long.
      for (let at = 0; at < chunk.length; at++) {
        const byte = chunk[at];
        if (isLineStart && byte !== blank && byte !== newline) count++;
        isLineStart = byte === newline;
      }
      if (chunk.length === 0) break;
      position += chunk.length;
    }
    return count;
  }
}
