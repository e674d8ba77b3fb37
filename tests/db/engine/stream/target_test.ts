// Targets of continuous backups: signatures, what a store's failures do, and who owns a target.
import assert from "node:assert/strict";
import { fetchAll } from "../../../../db/engine/stream/replay.ts";
import { ForeignTarget, Owner } from "../../../../db/engine/stream/owner.ts";
import { requestTimeoutMs, signedHeaders } from "../../../../db/engine/stream/s3.ts";
import type { Target } from "../../../../db/engine/stream/target.ts";

Deno.test("signs requests as the example in Amazon's documentation", () => {
  const { authorization } = signedHeaders({
    region: "us-east-1",
    accessKeyId: "AKIAIOSFODNN7EXAMPLE",
    secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    method: "GET",
    url: new URL("https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J"),
    body: undefined,
    now: new Date("2013-05-24T00:00:00Z"),
  });
  const [, signature] = /Signature=(\w+)$/.exec(authorization ?? "") ?? [];
  assert.equal(signature, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
});

Deno.test("a large object has the time that a slow line needs", () => {
  assert.equal(requestTimeoutMs(0), 60_000);
  // 16 MiB at 50 kB a second.
  assert.ok(requestTimeoutMs(16 * 1024 * 1024) > 16 * 1024 * 1024 / 50 + 60_000 - 1);
});

/** A target with one object, whose age a test sets. */
function ownedTarget() {
  const stored = { bytes: null as Uint8Array | null, ageMs: 0 };
  const target: Target = {
    put: (_, bytes) => Promise.resolve(void (stored.bytes = bytes)),
    get: () => Promise.resolve(stored.bytes === null ? null : { bytes: stored.bytes, ageMs: stored.ageMs }),
    list: () => Promise.resolve([]),
    remove: () => Promise.resolve(),
  };
  return { target, stored };
}

Deno.test("a target has one owner: a stranger waits until it is stale or has ended", async () => {
  const { target, stored } = ownedTarget();
  let now = 0;
  const owner = (server: string) => new Owner(target, { server, clock: () => now });
  const one = owner("one");
  assert.equal(await one.check(), 0);
  await assert.rejects(owner("other").check(), ForeignTarget);
  stored.ageMs = 181_000;
  const other = owner("other");
  await other.check();
  stored.ageMs = 0;
  now += 20_000;
  await assert.rejects(one.check(), ForeignTarget);
  now += 5_000;
  assert.equal(await other.check(), null);
  await one.end();
  await other.end();
  assert.equal(await owner("third").check(), 0);
});

Deno.test("a later run on the same data file takes the target over, and waits until the former one has noticed", async () => {
  const { target, stored } = ownedTarget();
  let now = 0;
  const run = () => new Owner(target, { server: "one", clock: () => now });
  const former = run();
  await former.check();
  stored.ageMs = 60_000;
  assert.equal(await run().check(), 15_000);
  stored.ageMs = 0;
  now += 10_000;
  await assert.rejects(former.check(), ForeignTarget);
});

Deno.test("a restore fetches a few objects ahead, and less of large ones", async () => {
  const ahead = async (bytes: number) => {
    let [asked, most] = [0, 0];
    const target = { get: () => Promise.resolve((asked++, { bytes: new Uint8Array(1), ageMs: 0 })) };
    const objects = Array.from({ length: 20 }, (_, n) => ({ name: `${n}`, bytes }));
    const names = [];
    for await (const { name } of fetchAll(target, objects)) {
      names.push(name);
      most = Math.max(most, asked - names.length + 1);
    }
    assert.deepEqual(names, objects.map(({ name }) => name));
    return most;
  };
  assert.equal(await ahead(1_000), 8);
  assert.equal(await ahead(16 * 1024 * 1024), 4);
  assert.equal(await ahead(100 * 1024 * 1024), 1);
});
