// Snapshots of a data file in use, and the removal of what is no longer needed at the target.
import { streamPartBytes, streamReadBytes, streamRequestRetriesMs } from "../../../domain/stream_limits.ts";
import { type EncryptionKeys, seal, unseal } from "./envelope.ts";
import {
  type Manifest,
  manifestFolder,
  type ManifestName,
  manifestName,
  parseManifestName,
  parseSegmentName,
  partFolder,
  partName,
  type PointName,
  segmentFolder,
} from "./segment.ts";
import type { StoredObject, Target } from "./target.ts";

/** Reads a part of the data file, shorter at its end. */
export type ReadPages = (at: number, bytes: number) => Promise<Uint8Array>;

/** The copy was interrupted, so the snapshot is useless. */
export class SnapshotStopped extends Error {}

interface SnapshotOptions {
  readonly target: Target;
  readonly keys: EncryptionKeys;
  readonly readPages: ReadPages;
  /** Rests as long as the step before took, so that others have their turn. @throws {SnapshotStopped} */
  readonly rest: (workedMs: number) => Promise<void>;
}

/**
 * Copies the data file to the target, a part at a time, while it changes. Every page that a checkpoint writes meanwhile is also in a
 * segment of the current round of the log or a later one. If it fails, nothing is left at the target, where space may be short.
 *
 * @param chain Its current segment, and where the round of the log began.
 * @returns Its manifest, without `to`.
 */
export async function copySnapshot(
  { name: chain, roundFrom: from }: { name: string; roundFrom: number },
  { target, keys, readPages, rest }: SnapshotOptions,
): Promise<Omit<Manifest, "to">> {
  const snapshot = crypto.randomUUID().slice(0, 8);
  let parts = 0;
  let bytes = 0;
  try {
    for (let isLast = false; !isLast;) {
      const part = new Uint8Array(streamPartBytes);
      let filled = 0;
      while (filled < part.length) {
        const startedAt = performance.now();
        const read = await readPages(bytes + filled, streamReadBytes);
        part.set(read, filled);
        filled += read.length;
        await rest(performance.now() - startedAt);
        if (read.length < streamReadBytes) {
          isLast = true;
          break;
        }
      }
      const startedAt = performance.now();
      const name = partName(chain, snapshot, parts);
      const sealed = seal(name, part.subarray(0, filled), keys);
      await rest(performance.now() - startedAt);
      await putPart(name, sealed, { target, rest });
      parts++;
      bytes += filled;
    }
  } catch (error) {
    for (; parts >= 0; parts--) await target.remove(partName(chain, snapshot, parts)).catch(() => parts = 0);
    throw error;
  }
  return { format: 1, chain, snapshot, from, parts, bytes };
}

/** Stores a part, also if the target doesn't respond for a while: otherwise a large snapshot would begin again and again. */
async function putPart(
  name: string,
  bytes: Uint8Array,
  { target, rest }: Pick<SnapshotOptions, "target" | "rest">,
): Promise<void> {
  for (const retryMs of streamRequestRetriesMs) {
    try {
      return await target.put(name, bytes);
    } catch {
      await rest(retryMs);
    }
  }
  await target.put(name, bytes);
}

/** Completes a snapshot. The segments up to `to` must be at the target. */
export async function putManifest(
  manifest: Manifest,
  { target, keys, now }: Pick<SnapshotOptions, "target" | "keys"> & { now: number },
): Promise<void> {
  const name = manifestName(manifest, now);
  await target.put(name, seal(name, new TextEncoder().encode(JSON.stringify(manifest)), keys));
}

/** Returns the complete snapshots at the target, the newest last. */
export async function listManifests(target: Target): Promise<ManifestName[]> {
  const objects = await target.list(manifestFolder);
  return objects.flatMap(({ name }) => parseManifestName(name) ?? []);
}

/** @param options See {@linkcode unseal}. @throws {DamagedObject} */
export async function readManifest(
  name: string,
  target: Target,
  keys: EncryptionKeys,
  options?: { acceptsPlain: boolean },
): Promise<Manifest | null> {
  const found = await target.get(name);
  if (found === null) return null;
  const manifest = JSON.parse(new TextDecoder().decode(unseal(name, found.bytes, keys, options))) as Manifest;
  if (manifest.format !== 1) throw new Error("a newer version of gatehouse wrote this backup");
  return manifest;
}

/** Returns the segment at the target with the highest number. If only a snapshot is left, it has the number of its last segment. */
export async function lastSegmentAt(target: Target): Promise<PointName | null> {
  const manifests = await listManifests(target);
  // Later chains may have no snapshot yet. A chain's name begins with its first number.
  const [newest] = manifests.slice(-1);
  const after = newest === undefined ? "segments/" : `${segmentFolder(newest.chain)}${digitsOf(newest)}`;
  const segments = await target.list("segments/", { after });
  const last = segments.flatMap(({ name }) => parseSegmentName(name) ?? []).at(-1);
  return last ?? newest ?? null;
}

function digitsOf({ number }: { number: number }): string {
  return String(number).padStart(12, "0");
}

/**
 * Removes what only points older than the last days need, and what interrupted snapshots left. The newest complete snapshot and its
 * segments always stay. Call it while no snapshot is being made.
 */
export async function prune(
  target: Target,
  { keys, keepSince }: { keys: EncryptionKeys; keepSince: number },
): Promise<void> {
  const manifests = await listManifests(target);
  // The last one from before is needed for points right after that time.
  const [first, ...later] = manifests.slice(
    Math.max(0, manifests.findLastIndex(({ endedAt }) => endedAt <= keepSince)),
  );
  if (first === undefined) return;
  // It may be from before there was a key.
  const kept = await readManifest(first.name, target, keys, { acceptsPlain: true });
  const parts = await target.list(partFolder(first.chain, first.snapshot));
  if (kept === null) return;
  const needed = (await listSegments(target, kept)).filter(({ number }) => number <= kept.to);
  // Otherwise the ones before are worth more than the space.
  if (parts.length !== kept.parts || needed.length !== kept.to - kept.from + 1) return;
  const folders = [first, ...later].map(({ chain, snapshot }) => partFolder(chain, snapshot));
  const isOld = ({ number }: PointName) => number < first.number;
  const useless = [
    ...manifests.filter(isOld),
    ...(await target.list("snapshots/")).filter(({ name }) =>
      !folders.some((folder) => name.startsWith(folder))
    ),
    ...(await listSegments(target)).filter(({ number }) => number < kept.from),
  ];
  for (const { name } of useless) await target.remove(name);
}

export type StoredPoint = PointName & StoredObject;

/** Returns segments in order: all of them, or those of a chain from a number on. */
export async function listSegments(
  target: Target,
  of?: { chain: string; from: number },
): Promise<StoredPoint[]> {
  const folder = of === undefined ? "segments/" : segmentFolder(of.chain);
  const objects = await target.list(folder, of && { after: `${folder}${digitsOf({ number: of.from })}` });
  return objects.flatMap((object) => {
    const point = parseSegmentName(object.name);
    return point === null ? [] : [{ ...object, ...point }];
  });
}
