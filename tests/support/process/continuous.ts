// What tests of continuous backups look at: the target's objects, and the state that a server reports.
import assert from "node:assert/strict";
import { unseal } from "../../../db/engine/stream/envelope.ts";
import { decodeSegment, parseSegmentName, type SegmentHead } from "../../../db/engine/stream/segment.ts";
import { poll } from "../runner/poll.ts";
import { replaceModule } from "./config.ts";

export const backupKey = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
export const backupKeys = [new Uint8Array(32).fill(7)];

/** A change of deno.json: turns every few frames, and no wait for a former run, which must have ended. */
export const shortTurns = {
  scopes: Object.assign(
    {},
    ...["copier", "owner"].map((name) =>
      replaceModule({
        importer: `db/engine/stream/${name}.ts`,
        module: "domain/stream_limits.ts",
        replacement: "tests/support/process/short_turns.ts",
      }).scopes
    ),
  ),
};

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
  walk(`${target}/${under}`);
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
  }).catch(() => assert.fail(`not ${state}: ${JSON.stringify(last)}`));
}
