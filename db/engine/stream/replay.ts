// Finds a point of a continuous backup, and writes the database as it was then into a file.
import { streamAheadBytesMax, streamAheadMax, streamPartBytes } from "../../../domain/stream_limits.ts";
import { DamagedObject, type EncryptionKeys, hashOf, unseal } from "./envelope.ts";
import { decodeSegment, type Manifest, partName, type PointName, SegmentWriter, writeAt } from "./segment.ts";
import { listManifests, listSegments, readManifest, type StoredPoint } from "./snapshots.ts";
import type { StoredObject, Target } from "./target.ts";

/** The newest point, the newest one that had ended by a time, or exactly one. */
export type WantedPoint = { readonly time: number } | { readonly number: number } | null;

export interface ReplayPlan {
  readonly manifest: Manifest;
  /** From the one that the snapshot needs first to the wanted point. */
  readonly segments: readonly StoredPoint[];
  readonly point: PointName;
}

/** The target has no such point, or it lacks something. */
export class NoSuchPoint extends Error {}

/** Numbers decide what is newest: a clock may have been set back. @throws {NoSuchPoint} */
export async function planReplay(
  target: Target,
  keys: EncryptionKeys,
  wanted: WantedPoint,
): Promise<ReplayPlan> {
  const manifests = await listManifests(target);
  if (manifests.length === 0) throw new NoSuchPoint("there is no complete snapshot of a continuous backup");
  for (const { name, number: to } of manifests.reverse()) {
    if (wanted !== null && "number" in wanted && to > wanted.number) continue;
    const manifest = await readManifest(name, target, keys);
    if (manifest === null) continue;
    const segments = await listSegments(target, manifest);
    const point = segments.findLast(({ number, endedAt }) =>
      number >= to &&
      (wanted === null || ("time" in wanted ? endedAt <= wanted.time : number === wanted.number))
    );
    if (point !== undefined) {
      const needed = segments.filter(({ number }) => number <= point.number);
      requireAll(needed, manifest);
      return { manifest, segments: needed, point };
    }
    if (wanted !== null && "number" in wanted) break;
  }
  throw new NoSuchPoint("the continuous backup has no such point that can be restored");
}

function requireAll(segments: readonly PointName[], { from }: Manifest): void {
  segments.forEach(({ number, name }, n) => {
    const expected = from + n;
    if (number === expected) return;
    const problem = number > expected
      ? `segment ${expected} is missing`
      : `there are two segments ${number}, such as ${name}: two servers wrote to this target`;
    throw new NoSuchPoint(`${problem}. Points before it can be restored with --at NUMBER`);
  });
}

/**
 * Writes the database of a point into an empty file.
 *
 * @param options `onProgress`: with the share of all objects that is done.
 * @throws {DamagedObject} When anything was changed, mixed up or left out.
 */
export async function replay(
  { manifest, segments }: ReplayPlan,
  { target, keys, file, onProgress }: {
    target: Target;
    keys: EncryptionKeys;
    file: Deno.FsFile;
    onProgress: (done: number, all: number) => void;
  },
): Promise<void> {
  const { chain, snapshot, parts } = manifest;
  const partObjects = Array.from({ length: parts }, (_, n) => ({
    name: partName(chain, snapshot, n),
    bytes: streamPartBytes,
  }));
  const all = parts + segments.length;
  let done = 0;
  let at = 0;
  for await (const { name, bytes } of fetchAll(target, partObjects)) {
    const part = unseal(name, bytes, keys);
    writeAt(file, part, at);
    at += part.length;
    onProgress(++done, all);
  }
  if (at !== manifest.bytes) throw new DamagedObject(`the snapshot ${snapshot}`, "is incomplete");
  let previous: string | null = null;
  const writer = new SegmentWriter(file);
  for await (const { name, bytes } of fetchAll(target, segments)) {
    const segment = decodeSegment(unseal(name, bytes, keys));
    if (previous !== null && segment.head.previous !== previous) {
      throw new DamagedObject(name, "doesn't continue the segment before it");
    }
    previous = hashOf(bytes);
    writer.add(segment);
    onProgress(++done, all);
  }
  writer.flush();
}

/** Yields objects in order, and fetches a few ahead. */
export async function* fetchAll(target: Pick<Target, "get">, objects: readonly StoredObject[]) {
  const fetching: ReturnType<Target["get"]>[] = [];
  let bytesAhead = 0;
  for (const [n, { name, bytes }] of objects.entries()) {
    for (;;) {
      const next = objects[n + fetching.length];
      const fits = fetching.length < streamAheadMax && bytesAhead + (next?.bytes ?? 0) <= streamAheadBytesMax;
      if (next === undefined || (fetching.length > 0 && !fits)) break;
      const got = target.get(next.name);
      // Its turn to fail comes later.
      got.catch(() => {});
      fetching.push(got);
      bytesAhead += next.bytes;
    }
    const found = await fetching.shift();
    bytesAhead -= bytes;
    if (found === null || found === undefined) throw new DamagedObject(name, "is missing");
    yield { name, bytes: found.bytes };
  }
}
