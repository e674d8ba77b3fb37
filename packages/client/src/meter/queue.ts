// Where records wait, and the queue in memory.
import { Buffer } from "node:buffer";

export interface Line {
  /** The record as JSON. */
  readonly text: string;
  /** Its number among those recorded since the start; 0 for those of an earlier process. */
  readonly sequence: number;
}

export interface BatchSize {
  readonly records: number;
  readonly bytes: number;
}

/** Records in the order of recording. Those that were taken remain in the queue until they are settled. */
export interface Queue {
  /** All records, and the bytes of those that were not taken. */
  readonly count: number;
  readonly bytes: number;
  /** The number of the oldest record, or Infinity. */
  readonly oldest: number;
  /** The number of the newest record. */
  readonly newest: number;
  /** Records of earlier processes, and lines of them that are no records. */
  readonly counts: { readonly adopted: number; readonly damaged: number };
  /** Returns false if there is no room. */
  push(text: string): boolean;
  take(size: BatchSize): Line[];
  /** Removes taken records, whose outcome is known. */
  settle(lines: readonly Line[]): void;
  /** Keeps records that Gatehouse rejected, where possible. */
  keepRejected(lines: readonly Line[]): Promise<void>;
  /** Returns true if all records are on disk. */
  sync(): Promise<boolean>;
  /** Returns the number of lost records. */
  close(): Promise<number>;
}

const bytesMax = 128 * 1024 * 1024;

/** A bounded queue in memory. */
export class MemoryQueue implements Queue {
  readonly counts = { adopted: 0, damaged: 0 };
  readonly #recordsMax: number;
  #waiting: Line[] = [];
  readonly #taken = new Set<Line>();
  #bytes = 0;
  #newest = 0;
  #isClosed = false;

  constructor(recordsMax: number) {
    this.#recordsMax = recordsMax;
  }

  get count(): number {
    return this.#waiting.length + this.#taken.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get oldest(): number {
    const [line = this.#waiting[0]] = this.#taken;
    return line?.sequence ?? Infinity;
  }

  get newest(): number {
    return this.#newest;
  }

  push(text: string, sequence = this.#newest + 1): boolean {
    const bytes = Buffer.byteLength(text);
    if (this.#isClosed || this.count >= this.#recordsMax || this.#bytes + bytes > bytesMax) return false;
    this.#newest = sequence;
    this.#waiting.push({ text, sequence });
    this.#bytes += bytes;
    return true;
  }

  take({ records, bytes }: BatchSize): Line[] {
    let size = 0;
    let end = 0;
    for (const { text } of this.#waiting.slice(0, records)) {
      const length = Buffer.byteLength(text);
      if (end > 0 && size + length > bytes) break;
      size += length;
      end++;
    }
    this.#bytes -= size;
    const taken = this.#waiting.splice(0, end);
    for (const line of taken) this.#taken.add(line);
    return taken;
  }

  settle(lines: readonly Line[]): void {
    for (const line of lines) this.#taken.delete(line);
  }

  keepRejected(): Promise<void> {
    return Promise.resolve();
  }

  sync(): Promise<boolean> {
    return Promise.resolve(false);
  }

  lines(): Line[] {
    return [...this.#taken, ...this.#waiting];
  }

  close(): Promise<number> {
    const lost = this.count;
    this.#waiting = [];
    this.#taken.clear();
    this.#isClosed = true;
    return Promise.resolve(lost);
  }
}
