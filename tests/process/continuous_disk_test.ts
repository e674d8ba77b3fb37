// In which order a continuous backup writes to disk, and what a loss of power leaves of it. Under strace.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { basename, dirname } from "node:path";
import { unseal } from "../../db/engine/stream/envelope.ts";
import {
  decodeSegment,
  type Manifest,
  parseManifestName,
  parseSegmentName,
  partName,
} from "../../db/engine/stream/segment.ts";
import {
  backupIs,
  backupKey,
  backupKeys,
  isRestorable,
  objectsIn,
  recordFor,
  segmentsIn,
  shortTurns,
} from "../support/process/continuous.ts";
import { writeConfig } from "../support/process/config.ts";
import { Disk, type DiskCall, readDiskTrace, throughDiskTrace } from "../support/process/disk.ts";
import { inScene, type Scene, stop } from "../support/process/scene.ts";
import { straceMissing } from "../support/process/system_calls.ts";
import { repeats } from "../support/runner/extent.ts";
import { storedInFile } from "../support/meter/stored_usage.ts";
import { Spool } from "../../db/engine/stream/spool.ts";
import { signUpForLoad } from "../support/meter/load.ts";
import { faultRandom, faultsTimeoutMs, type Random } from "../support/runner/random.ts";

const ignore = straceMissing();

/** A server under strace, with a target in the same folder. */
interface Traced {
  readonly scene: Scene;
  readonly root: string;
  readonly folders: readonly string[];
  readonly path: string;
  readonly target: string;
  start(): Promise<void>;
  /** Returns what all servers wrote, after they have ended. */
  steps(): Promise<DiskCall[]>;
}

function traced(test: (traced: Traced) => Promise<void>): Promise<void> {
  return inScene({}, async (scene) => {
    const root = await Deno.realPath(scene.folder);
    const [data = "", target = ""] = ["data", "copies"].map((name) => `${root}/${name}`);
    for (const folder of [data, target]) await Deno.mkdir(folder);
    const config = await writeConfig(root, shortTurns);
    const env = { BACKUP_STREAM_TO: target, BACKUP_ENCRYPTION_KEY: backupKey, LOG_LEVEL: "info" };
    const files: string[] = [];
    await test({
      ...{ scene, root, target, folders: [data, target], path: `${data}/gatehouse.db` },
      async start() {
        const file = `${root}/trace${files.length}`;
        files.push(file);
        await scene.start({ config, env, through: throughDiskTrace(file) });
      },
      async steps() {
        const all: DiskCall[] = [];
        for (const file of files) {
          const after = Math.max(-1, ...all.map(({ ended }) => ended)) + 1;
          const calls = await readDiskTrace(file, { cwd: root, root });
          all.push(
            ...calls.map((call) => ({ ...call, began: call.began + after, ended: call.ended + after })),
          );
        }
        return Disk.steps(all);
      },
    });
  });
}

/** Records in several clients until there were some turns. */
async function recordDuringTurns(
  { scene: { baseUrl }, target }: Traced,
  { apiKey, turns, acknowledged = new Map() }: {
    apiKey: string;
    turns: number;
    acknowledged?: Map<string, number>;
  },
): Promise<void> {
  const first = segmentsIn(target).at(-1)?.head.roundFrom ?? 0;
  const rounds = () =>
    new Set(segmentsIn(target).map(({ head }) => head.roundFrom).filter((from) => from > first)).size;
  let isEnough = false;
  await Promise.all(Array.from({ length: 4 }, async () => {
    while (!isEnough) {
      const key = crypto.randomUUID();
      await recordFor(baseUrl, { apiKey, key });
      acknowledged.set(key, Date.now());
      isEnough ||= rounds() >= turns;
    }
  }));
}

const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("base64");

Deno.test(
  "a page gets into the data file, and a segment out of the spool, only when it is durable in the next place",
  { ignore, timeout: faultsTimeoutMs },
  () =>
    traced(async (traced) => {
      const { scene, path, target, folders } = traced;
      await traced.start();
      const { apiKeys: [apiKey = ""] } = await signUpForLoad(scene.baseUrl);
      await backupIs(scene.baseUrl, "ok");
      await recordDuringTurns(traced, { apiKey, turns: 3 });
      await stop(scene.program);
      const disk = new Disk(folders);
      const spooled = new Set<string>();
      const copied = new Set<string>();
      const counts = { pages: 0, removed: 0, manifests: 0 };
      for (const call of await traced.steps()) {
        if (call.kind === "write" && call.path === path && spooled.size > 0) {
          assert.ok(
            spooled.has(`${call.at / 4096 + 1} ${hashOf(call.bytes)}`),
            `page at ${call.at} isn't in the spool`,
          );
          counts.pages++;
        }
        const removed = call.kind === "remove" ? nameInSpool(call.path) : null;
        if (removed !== null) {
          assert.ok(copied.has(removed), `${removed} isn't in the target`);
          counts.removed++;
        }
        if (call.kind === "rename" && /\.stream\/part$|\.part$/.test(call.path)) {
          assert.ok(
            disk.isSynced(call.path),
            `${call.path} isn't on disk before it gets the name ${call.to}`,
          );
          const name = call.to.slice(target.length + 1);
          if (parseManifestName(name) !== null) {
            await requireAll(name, target, copied);
            counts.manifests++;
          }
        }
        disk.apply(call);
        if (call.kind !== "sync") {
          continue;
        }
        for (const [file, bytes] of disk.durable()) {
          if (file.startsWith(`${target}/`)) {
            copied.add(file.slice(target.length + 1));
          }
          const name = nameInSpool(file);
          if (name === null || spooled.has(name)) {
            continue;
          }
          spooled.add(name);
          const { head, images } = decodeSegment(unseal(name, bytes, backupKeys));
          head.pages.forEach((page, n) => {
            spooled.add(`${page} ${hashOf(images.subarray(n * 4096, (n + 1) * 4096))}`);
          });
        }
      }
      assert.ok(counts.pages > 100 && counts.removed > 3 && counts.manifests === 1, JSON.stringify(counts));
    }),
);

/** A state of the disk after a loss of power. */
interface Cut {
  /** When it was, in milliseconds since 1970. */
  readonly time: number;
  readonly files: readonly [string, Uint8Array][];
  /** True if the data file has the times with which it was sealed. */
  readonly isSealed: boolean;
}

/** Loses power at random moments of a trace: during the start, a snapshot, a turn, the stop, and at any time. */
function cuts({ folders, path, target }: Traced, { steps, random, count }: {
  steps: readonly DiskCall[];
  random: Random;
  count: number;
}): Cut[] {
  const isIn = (test: (call: DiskCall) => boolean) => steps.flatMap((call, n) => test(call) ? [n] : []);
  const sealed = isIn(({ to }) => to.endsWith(".stream/seal"));
  const moments = [
    isIn(({ path: file, kind }) => kind === "write" && file === path),
    isIn(({ path: file }) => file.includes(".stream/")),
    isIn(({ path: file }) => file.startsWith(`${target}/`)),
    sealed.flatMap((n) => Array.from({ length: 40 }, (_, more) => n - 15 + more)),
    steps.map((_, n) => n),
  ];
  const at = new Set(
    Array.from({ length: count }, (_, n) => random.pick(moments[n % moments.length] as number[])),
  );
  const disk = new Disk(folders);
  return steps.flatMap((call, n) => {
    disk.apply(call);
    if (!at.has(n)) return [];
    const isSealed = disk.changedAt(`${path}.stream/seal`) > disk.changedAt(path);
    return { time: call.time, files: [...disk.afterCut(random)], isSealed };
  });
}

/** Writes what is left into a folder, as if nothing but its place had changed. */
async function writeCut(folder: string, { files, isSealed }: Cut, { root, path }: Traced): Promise<void> {
  for (const each of ["data", "copies"]) await Deno.mkdir(`${folder}/${each}`, { recursive: true });
  const place = (file: string) => folder + file.slice(root.length);
  for (const [file, bytes] of files) {
    await Deno.mkdir(dirname(place(file)), { recursive: true });
    await Deno.writeFile(place(file), bytes);
  }
  const seal = place(`${path}.stream/seal`);
  if (!isSealed || !files.some(([file, bytes]) => place(file) === seal && bytes.length > 0)) return;
  const { number } = JSON.parse(await Deno.readTextFile(seal));
  await Deno.remove(seal);
  new Spool(place(path)).seal(place(path), number);
}

Deno.test(
  "after a loss of power at any moment of start, snapshot, turn and stop, what was acknowledged is there and copied",
  { ignore, timeout: faultsTimeoutMs },
  () =>
    traced(async (traced) => {
      const { scene, root, path } = traced;
      const random = faultRandom("continuous_disk_test.ts");
      await traced.start();
      const { apiKeys: [apiKey = ""] } = await signUpForLoad(scene.baseUrl);
      const acknowledged = new Map<string, number>();
      await backupIs(scene.baseUrl, "ok");
      await recordDuringTurns(traced, { apiKey, turns: 2, acknowledged });
      await stop(scene.program);
      await traced.start();
      await recordDuringTurns(traced, { apiKey, turns: 1, acknowledged });
      await backupIs(scene.baseUrl, "ok");
      await stop(scene.program);
      const steps = await traced.steps();
      let continued = 0;
      for (
        const [n, cut] of cuts(traced, { steps, random, count: repeats({ quick: 5, full: 12 }) }).entries()
      ) {
        const folder = `${root}/cut${n}`;
        await writeCut(folder, cut, traced);
        const copies = `${folder}/copies`;
        const before = segmentsIn(copies).at(-1)?.head;
        const env = { BACKUP_STREAM_TO: copies, BACKUP_ENCRYPTION_KEY: backupKey };
        const keysIn = async (file: string) => {
          const stored = await storedInFile(file);
          const rows = await stored.read("SELECT idempotency_key AS key FROM usage_records");
          await stored.close();
          return new Set(rows.map(({ key }) => String(key)));
        };
        const requireKeys = async (file: string, since: number) => {
          const keys = await keysIn(file);
          for (const [key, time] of acknowledged) assert.ok(keys.has(key) || time >= since, `${key} is lost`);
        };
        await inScene({ folder, env, config: `${root}/deno.json` }, async (after) => {
          // The machine may be gone, or start again.
          if (objectsIn(copies, "manifests").length > 0) {
            const end = await after.run("restore", "--from", copies, `${folder}/lost.db`);
            assert.equal(end.status, 0, end.stderr);
            await requireKeys(`${folder}/lost.db`, before?.startedAt ?? 0);
          }
          if (cut.files.every(([file]) => file !== path)) return;
          await after.start();
          await backupIs(after.baseUrl, "ok");
          await stop(after.program);
          const chain = segmentsIn(copies).at(-1)?.head.chain;
          if (chain === before?.chain) continued++;
          await requireKeys(await isRestorable(after, copies), cut.time);
        });
        await Deno.remove(folder, { recursive: true });
      }
      assert.ok(continued > 0, "no copy was continued");
    }),
);

/** Requires that what a snapshot needs is in the target. */
async function requireAll(name: string, target: string, copied: ReadonlySet<string>): Promise<void> {
  const bytes = unseal(name, await Deno.readFile(`${target}/${name}`), backupKeys);
  const { chain, snapshot, from, to, parts } = JSON.parse(new TextDecoder().decode(bytes)) as Manifest;
  for (let n = 0; n < parts; n++) assert.ok(copied.has(partName(chain, snapshot, n)), `part ${n}`);
  const numbers = [...copied].map((name) => parseSegmentName(name)?.number);
  for (let n = from; n <= to; n++) assert.ok(numbers.includes(n), `segment ${n}`);
}

/** Returns the name of a segment, if a file is in the spool. */
function nameInSpool(file: string): string | null {
  return file.includes(".stream/")
    ? parseSegmentName(basename(file).replaceAll("_", "/"))?.name ?? null
    : null;
}
