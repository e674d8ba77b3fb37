// Products that meter each request with the client, under load, while Gatehouse fails in every way and the products
// themselves are killed. Every request that got a response is counted exactly once, and every other one at most once.
import assert from "node:assert/strict";
import { cookieOf, testPassword } from "../../support/app/app.ts";
import {
  type FaultName,
  type FaultProxy,
  faults,
  startFaultProxy,
} from "../../support/client/fault_proxy.ts";
import { sendJson } from "../../support/process/journey.ts";
import {
  AskedUsage,
  compileMeter,
  type ProductLoad,
  type ProductOptions,
  type ProductProcess,
  type Runtime,
  startProduct,
  startProductLoad,
} from "../../support/client/metered_load.ts";
import { poll } from "../../support/runner/poll.ts";
import { killProgram } from "../../support/process/program.ts";
import { onServer, type Scene as ProgramScene } from "../../support/process/scene.ts";
import { isFull, repeats } from "../../support/runner/extent.ts";
import { faultRandom, letOthersRun, type Random } from "../../support/runner/random.ts";
import { freePort } from "../../support/database/sqld.ts";
import { mayMount, mountSmallDisk, type SmallDisk } from "../../support/database/small_disk.ts";
import { storedInFile } from "../../support/meter/stored_usage.ts";
import { startTcpProxy, type TcpProxy } from "../../support/network/tcp_proxy.ts";

/** Options of every meter, so that faults take effect within a second. */
const quick = { flushIntervalMs: 100, timeoutMs: 1_000, batchRecordsMax: 50, handleSigterm: true };
/** Between two kills of a product, whose start takes much longer than what it then sends. */
const pauseMs = isFull ? { min: 200, max: 1_500 } : { min: 1_000, max: 4_000 };
/** How many records a product without a spool keeps, in the case that loses some. */
const fewRecords = 100;

/** Gatehouse, with two proxies in front of it. */
interface Service {
  readonly folder: string;
  readonly url: string;
  readonly proxy: FaultProxy;
  readonly line: TcpProxy;
  restart(): Promise<void>;
  /** Kills Gatehouse. */
  kill(): Promise<void>;
  /** Ends the proxies. */
  stop(): Promise<void>;
  /** @returns A new API key of a new organization. */
  newKey(name: string): Promise<string>;
}

function startService(scene: ProgramScene): Service {
  const { baseUrl, folder } = scene;
  const proxy = startFaultProxy(baseUrl);
  const line = startTcpProxy({ targetPort: proxy.port });
  return {
    folder,
    url: line.url,
    proxy,
    line,
    async restart() {
      await killProgram(scene.program);
      await scene.start();
    },
    kill: () => killProgram(scene.program),
    async stop() {
      await line.close();
      await proxy.close();
    },
    async newKey(name) {
      const json = { name, email: `${name}@example.com`, password: testPassword };
      const signUp = await sendJson(baseUrl, "/api/auth/sign-up", { json });
      const cookie = cookieOf(signUp);
      const key = await sendJson(baseUrl, "/api/portal/api-keys", { cookie, json: { name } });
      return (await key.json()).fullKey;
    },
  };
}

/** Makes Gatehouse fail in each way, in random order, and work again after each. */
async function failInEachWay({ proxy, line, restart }: Service, random: Random): Promise<void> {
  const meets = (name: FaultName) => async () => {
    const before = proxy.met.get(name) ?? 0;
    proxy.set(name);
    await poll(() => (proxy.met.get(name) ?? 0) >= before + 3);
    proxy.set(null);
  };
  const ways: Record<string, () => Promise<void>> = {
    "killed": restart,
    "killed again": restart,
    "slow": async () => {
      line.setDelay(random.between(100, 600));
      await letOthersRun(random.between(300, 1_000));
      line.setDelay(0);
    },
    "unreachable": async () => {
      line.cut();
      await letOthersRun(random.between(200, 600));
      line.restore();
    },
    "losing responses": async () => {
      line.loseAnswers({ count: random.between(1, 5), answersWith: '"accepted":' });
      await poll(() => line.answersToLose === 0);
    },
    ...Object.fromEntries(Object.keys(faults).map((name) => [name, meets(name as FaultName)])),
  };
  for (let round = 0; round < repeats({ quick: 1, full: 3 }); round++) {
    const left = Object.keys(ways);
    while (left.length > 0) {
      const [name = ""] = left.splice(random.between(0, left.length - 1), 1);
      const before = proxy.acknowledged;
      await letOthersRun(random.between(0, 200));
      await ways[name]?.().catch((error) => assert.fail(`${name}: ${error}`));
      await poll(() => proxy.acknowledged > before);
    }
  }
}

/** A product under load, with any number of processes that share a spool. */
class Product {
  readonly name: string;
  readonly processes: ProductProcess[] = [];
  readonly #options: ProductOptions;
  readonly #load: ProductLoad;

  constructor(options: ProductOptions, load: { asked: AskedUsage; random: Random }) {
    this.name = options.name;
    this.#options = options;
    this.#load = startProductLoad({ product: options.name, ...load });
  }

  async start(runtime: Runtime): Promise<ProductProcess> {
    const process = await startProduct(this.#options, runtime);
    this.processes.push(process);
    this.#load.targets.add(process.baseUrl);
    return process;
  }

  /** Ends the oldest process, while requests are on their way to it. */
  async endOldest(signal: Deno.Signal = "SIGKILL"): Promise<void> {
    const process = this.processes.shift();
    await process?.end(signal);
    if (process !== undefined) this.#load.targets.delete(process.baseUrl);
  }

  stopLoad(): Promise<void> {
    return this.#load.stop();
  }

  async killAll(): Promise<void> {
    while (this.processes.length > 0) await this.endOldest();
  }

  /** @returns The names and sizes of the files in its spool. */
  spool(): [name: string, size: number][] {
    const folder = String(this.#options.meter["spool"]);
    return [...Deno.readDirSync(folder)].map(({ name }) => [name, Deno.statSync(`${folder}/${name}`).size]);
  }
}

/** Kills processes of a product again and again, and starts others before, after, or at the same time. */
async function killAgainAndAgain(
  product: Product,
  { random, isOver }: { random: Random; isOver: () => boolean },
): Promise<void> {
  while (!isOver()) {
    await letOthersRun(random.between(pauseMs.min, pauseMs.max));
    const order = random.between(0, 2);
    const runtime = random.pick(["deno", "node"] as const);
    if (order === 0) await product.endOldest();
    const started = product.start(runtime);
    if (order === 1) await product.endOldest();
    await started;
    if (order === 2) {
      await letOthersRun(random.between(0, 500));
      await product.endOldest(random.pick(["SIGKILL", "SIGTERM"]));
    }
  }
}

/** Fills a disk again and again, and frees it again. */
async function fillAgainAndAgain(
  disk: SmallDisk,
  { random, isOver }: { random: Random; isOver: () => boolean },
): Promise<void> {
  while (!isOver()) {
    try {
      disk.fill();
    } catch {
      // The product took the last space first.
    }
    await letOthersRun(random.between(200, 2_000));
    disk.makeRoom();
    await letOthersRun(random.between(200, 1_000));
  }
}

interface Scene {
  readonly service: Service;
  readonly random: Random;
  readonly asked: AskedUsage;
  readonly folder: string;
  /** Starts a product under load. Its processes run on the runtimes. */
  add(name: string, runtimes: readonly Runtime[], meter: Readonly<Record<string, unknown>>): Promise<Product>;
}

function withScene(test: (scene: Scene) => Promise<void>): Promise<void> {
  const env = {
    PORT: String(freePort()),
    API_KEY_REQUESTS_PER_SECOND: "0",
    LOG_LEVEL: "warning",
  };
  return onServer({ env }, async (gatehouse) => {
    const { folder } = gatehouse;
    const random = faultRandom("client_faults_test.ts");
    const service = startService(gatehouse);
    const asked = new AskedUsage(random);
    const products: Product[] = [];
    const modules = await compileMeter(`${folder}/meter`);
    try {
      await test({
        service,
        random,
        asked,
        folder,
        async add(name, runtimes, more) {
          const apiKey = await service.newKey(name);
          const meter = { url: service.url, apiKey, ...quick, ...more };
          const product = new Product({ name, modules, meter }, { asked, random });
          products.push(product);
          for (const runtime of runtimes) await product.start(runtime);
          return product;
        },
      });
    } finally {
      for (const product of products) {
        await product.stopLoad();
        await product.killAll();
      }
      await service.stop();
    }
  });
}

/** Checks that each request with a response is recorded exactly once, except dropped ones, and nothing else is. */
async function checkUsage(
  { asked, folder }: Scene,
  { name, dropped }: { name: string; dropped: number },
): Promise<void> {
  const stored = await storedInFile(`${folder}/data/gatehouse.db`);
  const missing = await asked.missing(stored, name);
  await stored.close();
  assert.deepEqual(asked.surprises, []);
  assert(asked.answered(name) > dropped, `${name}: no usage to compare`);
  assert.equal(missing.length, dropped, `${name}: lost ${missing.length}, such as ${missing[0]}`);
}

/** Runs everything that goes wrong. */
async function failAndKill(
  { service, random }: Scene,
  { killed, disk }: { killed: readonly Product[]; disk: SmallDisk | null },
): Promise<void> {
  let isOver = false;
  const during = { random, isOver: () => isOver };
  const meanwhile = Promise.all([
    ...killed.map((product) => killAgainAndAgain(product, during)),
    disk === null ? undefined : fillAgainAndAgain(disk, during),
  ]);
  await Promise.race([failInEachWay(service, random), meanwhile]).finally(() => isOver = true);
  await meanwhile;
}

Deno.test("a product's usage is exact while Gatehouse fails and the product is killed, and without a spool while it lives", async () => {
  const disk = mayMount() ? mountSmallDisk(256 * 1024) : null;
  await withScene(async (scene) => {
    const { folder, service, add } = scene;
    // Each starts again on another runtime.
    const killed = await Promise.all([
      ...isFull ? [add("one-process", ["node"], { spool: `${folder}/one` })] : [],
      add("two-processes", ["deno", "node"], { spool: `${folder}/two` }),
    ]);
    const living = await Promise.all([
      add("memory", ["node"], {}),
      add("full-memory", ["deno"], { waitingRecordsMax: fewRecords }),
      ...disk === null ? [] : [add("full-disk", ["node"], { spool: `${disk.folder}/spool` })],
    ]);
    await failAndKill(scene, { killed, disk });
    await Promise.all([...killed, ...living].map((product) => product.stopLoad()));

    // Processes that were killed leave segments to the next start.
    await Promise.all(killed.map(async (product) => {
      await product.killAll();
      const { output } = await product.start("node");
      // A running process keeps an empty file.
      await poll(() => product.spool().every(([, size]) => size === 0))
        .catch(() => assert.fail(`${product.name}: left ${product.spool()}\n${output()}`));
      await product.endOldest("SIGTERM");
      assert.deepEqual(product.spool(), [], product.name);
    }));
    // The others end as in a deployment: SIGTERM closes the meter, which sends what waits.
    const drops = await Promise.all(living.map(async (product) => {
      const { dropped } = await product.processes[0]?.stats() ?? assert.fail();
      await product.endOldest("SIGTERM");
      return dropped ?? assert.fail();
    }));
    await service.kill();

    for (const { name } of killed) await checkUsage(scene, { name, dropped: 0 });
    for (const [index, { name }] of living.entries()) {
      const dropped = drops[index] ?? assert.fail();
      assert.equal(dropped > 0, name === "full-memory", `${name}: dropped ${dropped}`);
      await checkUsage(scene, { name, dropped });
    }
  }).finally(() => disk?.unmount());
});
