// What tests of continuous backups look at: the target's objects, and the state that a server reports.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { unseal } from "../../../db/engine/stream/envelope.ts";
import { decodeSegment, parseSegmentName, type SegmentHead } from "../../../db/engine/stream/segment.ts";
import { poll } from "../runner/poll.ts";
import { replaceModules } from "./config.ts";
import type { Scene } from "./scene.ts";

export const backupKey = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
export const backupKeys = [new Uint8Array(32).fill(7)];

/** A change of deno.json: turns every few frames, and no wait for a former run, which must have ended. */
export const shortTurns = replaceModules(
  ...["copier", "owner"].map((name) => ({
    importer: `db/engine/stream/${name}.ts`,
    module: "domain/stream_limits.ts",
    replacement: "tests/support/process/short_turns.ts",
  })),
);

/** Records one request. */
export async function recordFor(
  baseUrl: string,
  { apiKey, key }: { apiKey: string; key: string },
): Promise<void> {
  const json = { productSlug: "tiles", metric: "requests", quantity: 1, idempotencyKey: key };
  const response = await fetch(`${baseUrl}/api/v1/usage`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(json),
  });
  assert.equal(response.status, 201, await response.text());
}

/** Returns the paths of a folder's files below a folder, sorted. */
export function objectsIn(target: string, under: string): string[] {
  const found: string[] = [];
  const walk = (folder: string) => {
    for (const { name, isDirectory } of Deno.readDirSync(folder)) {
      const path = `${folder}/${name}`;
      if (isDirectory) walk(path);
      else if (!name.endsWith(".part")) found.push(path);
    }
  };
  if (existsSync(`${target}/${under}`)) walk(`${target}/${under}`);
  return found.sort();
}

/** Returns the names and heads of all segments, in order. */
export function segmentsIn(target: string): { path: string; head: SegmentHead }[] {
  return objectsIn(target, "segments").map((path) => {
    const name = parseSegmentName(path.slice(target.length + 1))?.name ?? assert.fail(path);
    return { path, head: decodeSegment(unseal(name, Deno.readFileSync(path), backupKeys)).head };
  });
}

export async function backupHealth(
  baseUrl: string,
): Promise<{ state: string; behindSeconds: number | null }> {
  const response = await fetch(`${baseUrl}/health/ready`);
  assert.equal(response.status, 200);
  return (await response.json()).backup;
}

/** Waits until a server's continuous backup is in a state. */
export async function backupIs(baseUrl: string, state: string): Promise<void> {
  let last: unknown;
  await poll(async () => {
    const health = last = await backupHealth(baseUrl);
    return health.state === state && (state !== "ok" || health.behindSeconds !== null);
  }).catch((error) => assert.fail(`not ${state}: ${JSON.stringify(last)}: ${error}`));
}

/**
 * Restores what a stopped server has copied, and asserts that it has the same pages as the data file.
 *
 * @returns The path of the restored file.
 */
export async function isRestorable(
  scene: Pick<Scene, "run" | "path" | "folder">,
  target: string,
): Promise<string> {
  const restored = `${scene.folder}/restored.db`;
  const end = await scene.run("restore", "--from", target, restored);
  assert.equal(end.status, 0, end.stderr);
  const [expected, found] = [scene.path, restored].map((path) => {
    const bytes = Deno.readFileSync(path);
    // The format of the log, and counters of changes.
    for (const [from, to] of [[18, 20], [24, 28], [92, 100]]) bytes.fill(0, from, to);
    return bytes;
  }) as [Uint8Array, Uint8Array];
  assert.equal(found.length, expected.length);
  for (let at = 0; at < expected.length; at += 4096) {
    const page = (bytes: Uint8Array) => bytes.subarray(at, at + 4096);
    assert.equal(Buffer.compare(page(found), page(expected)), 0, `page ${at / 4096 + 1} differs`);
  }
  return restored;
}
