// The folder beside the data file where segments wait for their upload. The newest one stays: it has the position up to which the
// log was copied, with which the next run continues.
import { join } from "node:path";
import { statSync } from "node:fs";
import { moveIntoPlace } from "../backup.ts";
import { openTemporary, removeIfExists } from "../data_file.ts";
import { type EncryptionKeys, hashOf, unseal } from "./envelope.ts";
import { logContinues, type ReadAt } from "./log_reader.ts";
import {
  decodeSegment,
  firstNumberOf,
  parseSegmentName,
  type PointName,
  type SegmentHead,
} from "./segment.ts";

export interface SpooledSegment extends PointName {
  readonly bytes: number;
  /** With it, everything that was committed before this time is copied; 0 if that isn't known. */
  readonly safeAt: number;
}

/** The end of a copy that the next run continues. */
export interface Resume {
  readonly head: Pick<SegmentHead, "chain" | "number" | "startedAt" | "position" | "roundFrom">;
  readonly hash: string;
  /** True if the log was complete and has been removed: the next one is new. */
  readonly isSealed: boolean;
}

export class Spool {
  readonly #folder: string;
  readonly #segments: SpooledSegment[];

  /** @param path The data file. */
  constructor(path: string) {
    this.#folder = `${path}.stream`;
    Deno.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#segments = [...Deno.readDirSync(this.#folder)].flatMap(({ name: file }) => {
      const point = parseSegmentName(file.replaceAll("_", "/"));
      if (point === null) return [];
      // The names of a former run's segments have only this time.
      return [{ ...point, safeAt: point.endedAt, bytes: Deno.statSync(this.#path(point.name)).size }];
    }).sort((one, other) => one.name < other.name ? -1 : 1);
  }

  /** The segments in order. */
  get segments(): readonly SpooledSegment[] {
    return this.#segments;
  }

  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Adds a segment, the newest one. */
  addSegment(name: string, bytes: Uint8Array, safeAt: number): void {
    this.add(name, bytes);
    this.#segments.push({ ...parseSegmentName(name) as PointName, safeAt, bytes: bytes.length });
  }

  /** Removes the oldest segment. */
  removeFirst(): void {
    const first = this.#segments.shift();
    if (first !== undefined) removeIfExists(this.#path(first.name));
  }

  /**
   * True if the segments follow those at a target.
   *
   * @param last The last one there.
   */
  continues(last: PointName | null): boolean {
    const [first] = this.#segments;
    if (first === undefined || this.#segments.some(({ name }) => name === last?.name)) return true;
    return first.number === firstNumberOf(first.chain) && (last?.number ?? 0) < first.number;
  }

  /** Writes a file durably. */
  add(name: string, bytes: Uint8Array): void {
    const temporary = join(this.#folder, "part");
    try {
      using file = openTemporary(temporary);
      for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
      file.syncDataSync();
    } catch (error) {
      removeIfExists(temporary);
      throw error;
    }
    moveIntoPlace(temporary, this.#path(name));
  }

  read(name: string): Uint8Array {
    return Deno.readFileSync(this.#path(name));
  }

  /** Returns what tells servers apart at the target: the same as long as this folder exists. */
  serverId(): string {
    const name = "server";
    try {
      return new TextDecoder().decode(this.read(name));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    const id = crypto.randomUUID();
    this.add(name, new TextEncoder().encode(id));
    return id;
  }

  /** Notes that the data file is complete and everything in it is copied. Call it before the writer closes the file. */
  seal(path: string, number: number): void {
    this.add(sealName, new TextEncoder().encode(JSON.stringify({ number, file: identityOf(path) })));
  }

  /** True if the data file is as it was when it was sealed. */
  isSealed(path: string, number: number): boolean {
    const seal = JSON.parse(new TextDecoder().decode(this.read(sealName)));
    return seal.number === number && seal.file === identityOf(path);
  }

  /** Finds out, before anything is written, whether nothing was written since the last run's copy. */
  findResume(path: string, keys: EncryptionKeys): Resume | null {
    try {
      const last = this.#segments.at(-1);
      if (last === undefined) return null;
      const bytes = this.read(last.name);
      const { head } = decodeSegment(unseal(last.name, bytes, keys));
      const found = { head, hash: hashOf(bytes) };
      if (logSize(path) > 0) {
        using log = Deno.openSync(`${path}-wal`);
        return logContinues(reading(log), head.position) ? { ...found, isSealed: false } : null;
      }
      return this.isSealed(path, head.number) ? { ...found, isSealed: true } : null;
    } catch {
      // Another key, a cut of power, or files of someone else: a new copy is always right.
      return null;
    }
  }

  #path(name: string): string {
    return join(this.#folder, name.replaceAll("/", "_"));
  }
}

const sealName = "seal";

/** Reads a file at a position, as {@linkcode ReadAt}. */
export function reading(file: Deno.FsFile): ReadAt {
  return (buffer, at) => {
    file.seekSync(at, Deno.SeekMode.Start);
    let done = 0;
    while (done < buffer.length) {
      const count = file.readSync(buffer.subarray(done));
      if (count === null) break;
      done += count;
    }
    return done;
  };
}

function logSize(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/** Changes with the file. Doesn't open it: closing it would drop SQLite's locks. */
function identityOf(path: string): string {
  const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
  return [ino, size, mtimeNs, ctimeNs].join(" ");
}
