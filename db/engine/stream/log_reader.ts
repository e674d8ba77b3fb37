// Reads the frames of SQLite's write-ahead log (https://sqlite.org/fileformat2.html, 4), without SQLite: there are no locks on this
// file. Only committed frames with a valid checksum are returned.

/** Reads into a buffer from a position in a file. Returns the number of bytes, fewer only at the end of the file. */
export type ReadAt = (buffer: Uint8Array, at: number) => number;

/** A position in the log: its round, which a new first salt begins, and the frames of the round up to there. */
export interface LogPosition {
  readonly salts: Sums;
  /** The number of frames before it. */
  readonly frame: number;
  /** The running checksum after these. */
  readonly sums: Sums;
}

type Sums = readonly [number, number];

/** Committed changes from one position to the next. */
export interface LogPart {
  /** The last image of each changed page, by number. */
  readonly pages: ReadonlyMap<number, Uint8Array>;
  readonly pageSize: number;
  /** The size of the database in pages. */
  readonly pageCount: number;
  readonly position: LogPosition;
  /** True if it begins with the first frame of a round. */
  readonly beginsRound: boolean;
  /** True if reading ended because the part is large. */
  readonly hasMore: boolean;
}

/** Frames after a position were overwritten, or can't be copied. */
export class LogGap extends Error {}

interface LogHeader {
  readonly salts: Sums;
  readonly sums: Sums;
  readonly pageSize: number;
  /** True if the words of checksums are big-endian. */
  readonly isBigEndian: boolean;
}

const headerBytes = 32;
const frameHeaderBytes = 24;
const magic = 0x377f0682;
/** Frames that are read in one step. */
const chunkFrames = 256;

/** Adds bytes to a running checksum. @param bytes A multiple of 8, aligned to 4 in its buffer. */
export function addToSums(sums: Sums, bytes: Uint8Array, isBigEndian: boolean): Sums {
  let [one, other] = sums;
  if (isBigEndian) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let at = 0; at < bytes.length; at += 8) {
      one = (one + view.getUint32(at) + other) >>> 0;
      other = (other + view.getUint32(at + 4) + one) >>> 0;
    }
    return [one, other];
  }
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  for (let at = 0; at < words.length; at += 2) {
    one = (one + (words[at] as number) + other) >>> 0;
    other = (other + (words[at + 1] as number) + one) >>> 0;
  }
  return [one, other];
}

/** Returns the header of the log; null if there is none, or it is just being written. */
function readHeader(readAt: ReadAt): LogHeader | null {
  const bytes = new Uint8Array(headerBytes);
  if (readAt(bytes, 0) < headerBytes) return null;
  const view = new DataView(bytes.buffer);
  const isBigEndian = view.getUint32(0) === magic + 1;
  if (!isBigEndian && view.getUint32(0) !== magic) return null;
  const sums: Sums = [view.getUint32(24), view.getUint32(28)];
  const [one, other] = addToSums([0, 0], bytes.subarray(0, 24), isBigEndian);
  if (one !== sums[0] || other !== sums[1]) return null;
  return {
    salts: [view.getUint32(16), view.getUint32(20)],
    sums,
    pageSize: view.getUint32(8),
    isBigEndian,
  };
}

/** True if the log still has the last frame before a position. */
function hasFrame(readAt: ReadAt, { salts, frame, sums }: LogPosition, pageSize: number): boolean {
  if (frame === 0) return true;
  const bytes = new Uint8Array(frameHeaderBytes);
  if (readAt(bytes, headerBytes + (frame - 1) * (pageSize + frameHeaderBytes)) < frameHeaderBytes) {
    return false;
  }
  const view = new DataView(bytes.buffer);
  return [...salts, ...sums].every((value, n) => view.getUint32(8 + n * 4) === value);
}

/** True if the current round of a log has a number of frames, committed or not. */
export function logHas(readAt: ReadAt, frames: number): boolean {
  const header = readHeader(readAt);
  if (header === null) return false;
  const bytes = new Uint8Array(frameHeaderBytes);
  if (readAt(bytes, headerBytes + (frames - 1) * (header.pageSize + frameHeaderBytes)) < bytes.length) {
    return false;
  }
  const view = new DataView(bytes.buffer);
  return header.salts.every((salt, n) => view.getUint32(8 + n * 4) === salt);
}

/**
 * True if a log still is in the round of a position, and has all frames before it. Then nothing after it is lost. Recomputes the
 * checksums: after a loss of power, or a failed commit, the last frame may be there without the others.
 */
export function logContinues(readAt: ReadAt, { salts, frame, sums }: LogPosition): boolean {
  const header = readHeader(readAt);
  if (header === null || !isSame(header.salts, salts)) return false;
  if (frame === 0) return true;
  for (const { position } of validFrames(readAt, { salts, frame: 0, sums: header.sums }, header)) {
    if (position.frame === frame) return isSame(position.sums, sums);
  }
  return false;
}

/**
 * Reads what was committed after a position. A round with the next first salt is followed: the log starts over only when all of
 * it is in the data file, and nothing beyond a copied position gets there.
 *
 * @param after Null to begin with the first frame of the current round.
 * @param options `bytesMax`: end after the commit with which the pages have as many bytes. `commitBytesMax`: of one transaction.
 * @returns Null if nothing was committed.
 * @throws {LogGap}
 */
export function readLog(
  readAt: ReadAt,
  after: LogPosition | null,
  { bytesMax, commitBytesMax }: { bytesMax: number; commitBytesMax: number },
): LogPart | null {
  const header = readHeader(readAt);
  if (header === null) return null;
  const { salts, pageSize } = header;
  let start: LogPosition = { salts, frame: 0, sums: header.sums };
  if (after !== null && isSame(after.salts, salts)) {
    if (!hasFrame(readAt, after, pageSize)) throw new LogGap("copied frames were overwritten");
    if (after.frame > 0) start = after;
  } else if (after !== null && salts[0] !== (after.salts[0] + 1) >>> 0) {
    throw new LogGap("the log belongs to another round");
  }
  const pages = new Map<number, Uint8Array>();
  const pending = new Map<number, Uint8Array>();
  let part: Pick<LogPart, "pageCount" | "position"> | null = null;
  for (const frame of validFrames(readAt, start, header)) {
    pending.set(frame.page, frame.image);
    if (pending.size * pageSize > commitBytesMax) throw new LogGap("a transaction is too large to be copied");
    if (frame.pageCount === 0) continue;
    for (const [page, image] of pending) pages.set(page, image);
    pending.clear();
    part = { pageCount: frame.pageCount, position: frame.position };
    if (pages.size * pageSize >= bytesMax) break;
  }
  if (part === null) return null;
  const hasMore = pages.size * pageSize >= bytesMax;
  for (const page of pages.keys()) if (page > part.pageCount) pages.delete(page);
  return { ...part, pages, pageSize, beginsRound: start.frame === 0, hasMore };
}

/** Yields frames until one is invalid: what follows is unfinished, rolled back, or of an earlier round. */
function* validFrames(readAt: ReadAt, start: LogPosition, { salts, pageSize, isBigEndian }: LogHeader) {
  const frameBytes = pageSize + frameHeaderBytes;
  let { frame, sums } = start;
  for (;;) {
    const chunk = new Uint8Array(chunkFrames * frameBytes);
    const count = Math.floor(readAt(chunk, headerBytes + frame * frameBytes) / frameBytes);
    const view = new DataView(chunk.buffer);
    for (let n = 0; n < count; n++) {
      const at = n * frameBytes;
      if (view.getUint32(at + 8) !== salts[0] || view.getUint32(at + 12) !== salts[1]) return;
      sums = addToSums(sums, chunk.subarray(at, at + 8), isBigEndian);
      const image = chunk.subarray(at + frameHeaderBytes, at + frameBytes);
      sums = addToSums(sums, image, isBigEndian);
      if (view.getUint32(at + 16) !== sums[0] || view.getUint32(at + 20) !== sums[1]) return;
      frame++;
      const position: LogPosition = { salts, frame, sums };
      yield { page: view.getUint32(at), pageCount: view.getUint32(at + 4), image: image.slice(), position };
    }
    if (count < chunkFrames) return;
  }
}

function isSame(one: Sums, other: Sums): boolean {
  return one[0] === other[0] && one[1] === other[1];
}
