// Segments and snapshots of a continuous backup, and their names at the target. Names sort by number.
import { streamGatheredBytesMax } from "../../../domain/stream_limits.ts";
import type { LogPart, LogPosition } from "./log_reader.ts";

/** The head of a segment. */
export interface SegmentHead {
  readonly format: 1;
  readonly chain: string;
  /** Numbers rise by one, also from chain to chain. */
  readonly number: number;
  /** The hash of the segment before it; null for the first of a chain. */
  readonly previous: string | null;
  readonly pageSize: number;
  /** The size of the database in pages. */
  readonly pageCount: number;
  /** It has everything that was committed before `startedAt`, and nothing that was committed after `endedAt`, by the server's clock. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly position: LogPosition;
  /** The number of the segment with which this round of the log begins. */
  readonly roundFrom: number;
  /** The numbers of its pages, sorted. Their images follow the head. */
  readonly pages: readonly number[];
}

/** A complete snapshot: pages that were read one after another, and so are whole only with the segments `from` … `to`. */
export interface Manifest {
  readonly format: 1;
  readonly chain: string;
  readonly snapshot: string;
  readonly from: number;
  /** The first segment up to which it can be restored. */
  readonly to: number;
  readonly parts: number;
  readonly bytes: number;
}

export interface Segment {
  readonly head: SegmentHead;
  readonly images: Uint8Array;
}

export function encodeSegment(
  part: LogPart,
  head: Pick<SegmentHead, "chain" | "number" | "previous" | "startedAt" | "endedAt" | "roundFrom">,
): Uint8Array {
  const { pageSize, pageCount, position } = part;
  const pages = [...part.pages.keys()].sort((one, other) => one - other);
  const full: SegmentHead = { format: 1, ...head, pageSize, pageCount, position, pages };
  const text = new TextEncoder().encode(JSON.stringify(full));
  const bytes = new Uint8Array(4 + text.length + pages.length * pageSize);
  new DataView(bytes.buffer).setUint32(0, text.length);
  bytes.set(text, 4);
  pages.forEach((page, n) => {
    bytes.set(part.pages.get(page) as Uint8Array, 4 + text.length + n * pageSize);
  });
  return bytes;
}

/** @param bytes The body of an opened object. @throws {Error} */
export function decodeSegment(bytes: Uint8Array): Segment {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length))) as SegmentHead;
  const images = bytes.subarray(4 + length);
  if (head.format !== 1) throw new Error("a newer version of gatehouse wrote this backup");
  if (images.length !== head.pages.length * head.pageSize) throw new Error("a segment is cut off");
  return { head, images };
}

/** Applies segments to a copy of the data file. Writes each page of many segments once, in the order of the file. */
export class SegmentWriter {
  readonly #file: Deno.FsFile;
  readonly #pages = new Map<number, Uint8Array>();
  #bytes = 0;
  #pageSize = 0;
  #pageCount = Infinity;

  constructor(file: Deno.FsFile) {
    this.#file = file;
  }

  add({ head: { pageSize, pageCount, pages }, images }: Segment): void {
    if (pageCount < this.#pageCount) {
      this.flush();
      // What is cut off is gone, even if the file grows again.
      this.#file.truncateSync(pageCount * pageSize);
    }
    [this.#pageSize, this.#pageCount] = [pageSize, pageCount];
    pages.forEach((page, n) => this.#pages.set(page, images.subarray(n * pageSize, (n + 1) * pageSize)));
    this.#bytes += images.length;
    if (this.#bytes >= streamGatheredBytesMax) this.flush();
  }

  /** Writes what waits. Call it after the last segment. */
  flush(): void {
    if (this.#pages.size === 0) return;
    for (const page of [...this.#pages.keys()].sort((one, other) => one - other)) {
      writeAt(this.#file, this.#pages.get(page) as Uint8Array, (page - 1) * this.#pageSize);
    }
    this.#file.truncateSync(this.#pageCount * this.#pageSize);
    this.#pages.clear();
    this.#bytes = 0;
  }
}

export function writeAt(file: Deno.FsFile, bytes: Uint8Array, at: number): void {
  file.seekSync(at, Deno.SeekMode.Start);
  for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
}

const digits = (value: number, length: number) => String(value).padStart(length, "0");

/** Returns the name of a chain, which sorts by its first segment. */
export function chainName(firstNumber: number): string {
  return `${digits(firstNumber, 12)}-${crypto.randomUUID().slice(0, 8)}`;
}

export const firstNumberOf = (chain: string) => Number(chain.slice(0, 12));

/** A name at the target, with what it says. */
export interface PointName {
  readonly name: string;
  readonly chain: string;
  readonly number: number;
  readonly endedAt: number;
}

export const segmentFolder = (chain: string) => `segments/${chain}/`;
export const partFolder = (chain: string, snapshot: string) => `snapshots/${chain}/${snapshot}/`;
export const manifestFolder = "manifests/";
export const ownerName = "owner.json";

export function segmentName(chain: string, number: number, endedAt: number): string {
  return `${segmentFolder(chain)}${digits(number, 12)}.${digits(endedAt, 14)}`;
}

export function partName(chain: string, snapshot: string, part: number): string {
  return `${partFolder(chain, snapshot)}${digits(part, 6)}`;
}

export function manifestName(
  { chain, snapshot, to }: Pick<Manifest, "chain" | "snapshot" | "to">,
  endedAt: number,
): string {
  return `${manifestFolder}${digits(to, 12)}.${digits(endedAt, 14)}.${chain}.${snapshot}`;
}

/** Returns null for other objects, which are left alone. */
export function parseSegmentName(name: string): PointName | null {
  const [, chain = "", number, endedAt] = /^segments\/(\d{12}-[0-9a-f]{8})\/(\d{12})\.(\d{14})$/.exec(name) ??
    [];
  return number === undefined ? null : { name, chain, number: Number(number), endedAt: Number(endedAt) };
}

export interface ManifestName extends PointName {
  readonly snapshot: string;
}

export function parseManifestName(name: string): ManifestName | null {
  const [, number, endedAt, chain = "", snapshot = ""] =
    /^manifests\/(\d{12})\.(\d{14})\.(\d{12}-[0-9a-f]{8})\.([0-9a-f]{8})$/.exec(name) ?? [];
  return number === undefined
    ? null
    : { name, chain, snapshot, number: Number(number), endedAt: Number(endedAt) };
}
