// In which order a continuous backup writes to disk, and what a loss of power leaves of it. Under strace.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { basename } from "node:path";
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
  recordFor,
  segmentsIn,
  shortTurns,
} from "../support/process/continuous.ts";
import { writeConfig } from "../support/process/config.ts";
import { Disk, type DiskCall, readDiskTrace, throughDiskTrace } from "../support/process/disk.ts";
import { inScene, type Scene, stop } from "../support/process/scene.ts";
import { straceMissing } from "../support/process/system_calls.ts";
import { signUpForLoad } from "../support/meter/load.ts";
import { faultsTimeoutMs } from "../support/runner/random.ts";

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
