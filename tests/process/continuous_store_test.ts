// Continuous backup to a real S3 server that fails now and then, and the client of such stores.
import assert from "node:assert/strict";
import { S3Target } from "../../db/engine/stream/s3.ts";
import { Ledger } from "../support/meter/ledger.ts";
import { signUpForLoad, startLoad } from "../support/meter/load.ts";
import { checkAllUsage, storedInFile } from "../support/meter/stored_usage.ts";
import { s3Test, storeCredentials } from "../support/network/s3_server.ts";
import { backupIs, backupKey } from "../support/process/continuous.ts";
import { inScene, stop } from "../support/process/scene.ts";
import { poll } from "../support/runner/poll.ts";
import { faultRandom, letOthersRun } from "../support/runner/random.ts";

const settings = { LOG_LEVEL: "info", API_KEY_REQUESTS_PER_SECOND: "0", BACKUP_ENCRYPTION_KEY: backupKey };

s3Test(
  "copies under load to a store that fails each fifth request, before or after it was done, and restores all of it",
  async (store) => {
    store.failEach = 5;
    await inScene({ env: { ...settings, ...store.env } }, async (scene) => {
      const { baseUrl } = await scene.start();
      const { apiKeys } = await signUpForLoad(baseUrl);
      const ledger = new Ledger({ random: faultRandom("continuous_store_test.ts"), apiKeys });
      const load = startLoad({
        ledger,
        random: faultRandom("continuous_store_test.ts"),
        targets: [baseUrl],
      });
      await backupIs(baseUrl, "ok");
      await poll(() => ledger.answered > 100 && store.failed.before > 1 && store.failed.after > 1);
      await load.stop();
      assert.doesNotMatch(scene.program.output(), /continuous backup (can't be used|failed)/);
      await stop(scene.program);
      // What a stop leaves is uploaded after the next start.
      store.failEach = Infinity;
      await scene.start();
      await backupIs(scene.baseUrl, "ok");
      await stop(scene.program);
      const names = (await store.target.list("")).map(({ name }) => name);
      for (const name of names.slice(0, 5)) {
        const found = await store.target.get(name);
        assert.ok(!new TextDecoder().decode(found?.bytes).includes("SQLite format"), name);
      }
      const end = await scene.run("restore", "--from", "s3://copies/gatehouse", "restored.db");
      assert.equal(end.status, 0, end.stderr);
      const stored = await storedInFile(`${scene.folder}/restored.db`);
      await checkAllUsage(stored, ledger);
      await stored.close();
    });
  },
);

s3Test("an access key that may not delete only causes a warning", async (store) => {
  store.mayDelete = false;
  // An interrupted snapshot.
  await store.target.put("snapshots/000000000001-0123abcd/01234567/000000", new Uint8Array(1));
  await inScene({ env: { ...settings, ...store.env } }, async (scene) => {
    const { baseUrl } = await scene.start();
    await signUpForLoad(baseUrl);
    await poll(() =>
      /old parts of the continuous backup can't be removed.*responded with 403 AccessDenied/.test(
        scene.program.output(),
      )
    );
    await backupIs(baseUrl, "ok");
    await stop(scene.program);
    const end = await scene.run("backup", "verify", "s3://copies/gatehouse");
    assert.match(end.stdout, /can be restored/, end.stderr);
  });
});

s3Test("a snapshot is complete only when the segments that it needs are stored", async (store) => {
  const held = Promise.withResolvers<void>();
  const stored: string[] = [];
  const has = (folder: string) => stored.some((path) => path.includes(`/${folder}/`));
  store.beforePut = async (path) => {
    if (path.includes("/segments/")) await held.promise;
    stored.push(path);
  };
  await inScene({ env: { ...settings, ...store.env } }, async (scene) => {
    await scene.start();
    await poll(() => has("snapshots"));
    // Otherwise it would be completed now.
    await letOthersRun(1_000);
    assert.ok(!has("manifests"));
    held.resolve();
    await backupIs(scene.baseUrl, "ok");
    assert.ok(has("manifests"));
  }).finally(held.resolve);
});

s3Test("stores, lists page by page, reads and removes objects", async (store) => {
  const { target, endpoint } = store;
  store.pageObjects = 2;
  for (const name of ["segments/a/3", "segments/a/1", "segments/a/2", "owner (x)'&.json"]) {
    await target.put(name, new TextEncoder().encode(name));
  }
  const segments = [1, 2, 3].map((n) => `segments/a/${n}`);
  assert.deepEqual((await target.list("segments/")).map(({ name }) => name), segments);
  assert.deepEqual((await target.list("")).length, 4);
  assert.deepEqual(await target.list("segments/", { after: "segments/a/2" }), [{
    name: "segments/a/3",
    bytes: 12,
  }]);
  const found = await target.get("owner (x)'&.json");
  assert.equal(new TextDecoder().decode(found?.bytes), "owner (x)'&.json");
  assert.ok((found?.ageMs ?? Infinity) < 60_000);
  assert.equal(await target.get("missing"), null);
  await target.remove("segments/a/1");
  await target.remove("segments/a/1");
  assert.equal((await target.list("segments/")).length, 2);
  const wrong = { ...storeCredentials, secretAccessKey: "wrong" };
  const stranger = new S3Target({ kind: "s3", bucket: "copies", prefix: "gatehouse", endpoint, ...wrong });
  await assert.rejects(stranger.list(""), /responded with 403 SignatureDoesNotMatch/);
});

s3Test("a request that fails once is sent again, whether or not it was done", async (store) => {
  const { target, failed } = store;
  await target.put("segments/a/1", new Uint8Array(1));
  store.failEach = 1;
  // Every other one was done: five in each round, so those that weren't in the one are in the next.
  for (const status of [408, 429, 500, 503]) {
    store.failWith = status;
    const [, found, , objects, missing] = await Promise.all([
      target.put(`owner${status}`, new Uint8Array(2)),
      target.get("segments/a/1"),
      target.remove(`segments/a/${status}`),
      target.list("segments/"),
      target.get("missing"),
    ]);
    assert.deepEqual([found?.bytes.length, objects.length, missing], [1, 1, null]);
    store.failEach = Infinity;
    assert.equal((await target.get(`owner${status}`))?.bytes.length, 2);
    store.failEach = 1;
  }
  const before = failed.before + failed.after;
  for (const status of [400, 403, 412]) {
    store.failWith = status;
    await assert.rejects(
      target.put(`owner${status}`, new Uint8Array(2)),
      new RegExp(`responded with ${status} `),
    );
  }
  assert.deepEqual([before, failed.before + failed.after], [20, 23]);
});

Deno.test("a request to a store fails after three tries", async () => {
  let requests = 0;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => {
    requests++;
    return new Response("<Error><Code>InternalError</Code></Error>", { status: 500 });
  });
  const endpoint = `http://127.0.0.1:${server.addr.port}`;
  const target = new S3Target({ kind: "s3", bucket: "copies", prefix: "", endpoint, ...storeCredentials });
  await assert.rejects(target.get("owner.json"), /responded with 500 InternalError/);
  assert.equal(requests, 3);
  await server.shutdown();
});

Deno.test("a stop doesn't wait for a store that accepts connections and doesn't respond", async () => {
  const connections: Deno.Conn[] = [];
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepting = (async () => {
    for await (const connection of listener) connections.push(connection);
  })();
  const env = {
    BACKUP_STREAM_TO: "s3://copies",
    BACKUP_S3_ENDPOINT: `http://127.0.0.1:${listener.addr.port}`,
    BACKUP_S3_ACCESS_KEY_ID: storeCredentials.accessKeyId,
    BACKUP_S3_SECRET_ACCESS_KEY: storeCredentials.secretAccessKey,
  };
  await inScene({ env }, async (scene) => {
    const { baseUrl } = await scene.start();
    await backupIs(baseUrl, "gap");
    await poll(() => connections.length > 0);
    const at = performance.now();
    await stop(scene.program);
    // A request to the store fails after 60 seconds.
    assert.ok(performance.now() - at < 40_000);
  });
  listener.close();
  await accepting;
  for (const connection of connections) connection.close();
});
