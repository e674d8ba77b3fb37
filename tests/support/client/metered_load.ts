// Products that meter their requests in processes of their own, the load on them, and what it must have recorded.
import assert from "node:assert/strict";
import { post } from "../meter/load.ts";
import { startCommand } from "../runner/guides.ts";
import { poll } from "../runner/poll.ts";
import { letOthersRun, type Random } from "../runner/random.ts";
import { freePort } from "../database/sqld.ts";
import { unpackClient } from "./package.ts";
import type { StoredUsage } from "../meter/stored_usage.ts";

const productScript = new URL("metered_product.js", import.meta.url).pathname;

export type Runtime = "deno" | "node";

export interface ProductOptions {
  readonly name: string;
  readonly modules: Readonly<Record<Runtime, string>>;
  readonly meter: Readonly<Record<string, unknown>>;
}

export interface ProductProcess {
  readonly baseUrl: string;
  readonly output: () => string;
  stats(): Promise<Record<string, number>>;
  /** Ends it with a signal, and waits for its end. */
  end(signal: Deno.Signal): Promise<void>;
}

const commands = { deno: `'${Deno.execPath()}' run --no-check --allow-all`, node: "node" };

/** @param to A new folder. @returns URLs of the meter's module. */
export async function compileMeter(to: string): Promise<Record<Runtime, string>> {
  await Deno.mkdir(to);
  const source = new URL("../../../packages/client/src/meter/meter.ts", import.meta.url);
  return { deno: source.href, node: `file://${await unpackClient(to)}/meter/meter.js` };
}

/** Starts a process, and waits until it accepts connections. */
export async function startProduct(
  { modules, meter }: ProductOptions,
  runtime: Runtime,
): Promise<ProductProcess> {
  const port = freePort();
  const program = `${commands[runtime]} ${productScript} ${modules[runtime]} ${port}`;
  const running = startCommand(`${program} '${JSON.stringify(meter)}'`, { cwd: "/" });
  let hasEnded = false;
  running.ended.then(() => hasEnded = true);
  const baseUrl = `http://127.0.0.1:${port}`;
  const stats = async () => await (await fetch(`${baseUrl}/stats`)).json();
  await poll(async () => {
    assert(!hasEnded, `the product ended: ${running.output()}`);
    return await stats().then(() => true, () => false);
  });
  return {
    baseUrl,
    output: running.output,
    stats,
    async end(signal) {
      await running.stop(signal);
    },
  };
}

interface AskedRecord {
  readonly product: string;
  readonly metric: string;
  readonly micros: number;
  readonly askedAt: number;
  /** Time of the product's response to the request, if there was one. */
  answeredAt: number | undefined;
}

/** Everything that the products were asked to record, by the id that each record has. */
export class AskedUsage {
  readonly #random: Random;
  readonly #asked = new Map<string, AskedRecord>();
  /** Unexpected responses of products. */
  readonly surprises: string[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  /** @returns The number of records of a product whose requests got a response. */
  answered(product: string): number {
    return this.#of(product).filter(([, { answeredAt }]) => answeredAt !== undefined).length;
  }

  /** Sends a request that a product meters with one or two records. */
  async send(target: string, product: string): Promise<void> {
    const random = this.#random;
    const records = Array.from({ length: random.chance(0.2) ? 2 : 1 }, () => this.#next(product));
    const json = records.map(({ id, record, quantity }) => ({
      product,
      metric: record.metric,
      quantity,
      ...random.chance(0.5) ? { idempotencyKey: id } : { properties: { id } },
    }));
    const response = await post(target, { path: "/", apiKey: "", json });
    if (response === null) return;
    if (response.status !== 200) this.surprises.push(`${product}: ${response.status} ${response.text}`);
    for (const { record } of records) record.answeredAt = Date.now();
  }

  #next(product: string): { id: string; record: AskedRecord; quantity: number } {
    const random = this.#random;
    const id = `${product}-${this.#asked.size}-${random.between(0, 0xffffffff).toString(16)}`;
    // Sums such as 0.1 + 0.2 have floating-point noise.
    const tenths = random.between(0, 50);
    const record: AskedRecord = {
      product,
      metric: random.pick(["requests", "bytes"]),
      micros: tenths * 100_000 + 200_000,
      askedAt: Date.now(),
      answeredAt: undefined,
    };
    this.#asked.set(id, record);
    return { id, record, quantity: tenths / 10 + 0.2 };
  }

  #of(product: string): [string, AskedRecord][] {
    return [...this.#asked].filter(([, record]) => record.product === product);
  }

  /**
   * Compares stored usage with what a product was asked to record: nothing else is stored, and nothing twice.
   *
   * @returns The ids of records whose requests got a response but which are not stored.
   */
  async missing(stored: StoredUsage, product: string): Promise<string[]> {
    const rows = await stored.read(
      `SELECT s.metric, r.timestamp, r.quantity_whole * 1000000 + r.quantity_micro AS micros, r.idempotency_key AS key,
         r.properties
       FROM usage_records r JOIN usage_series s ON s.id = r.series WHERE s.product_slug = '${product}'`,
    );
    const seen = new Set<string>();
    for (const { metric, timestamp, micros, key, properties } of rows) {
      const id = properties === null ? String(key) : JSON.parse(String(properties)).id;
      const asked = this.#asked.get(id);
      assert(asked?.product === product, `recorded, but not asked for: ${id}`);
      assert(!seen.has(id), `recorded twice: ${id}`);
      seen.add(id);
      assert.deepEqual({ metric, micros }, { metric: asked.metric, micros: asked.micros }, id);
      const { askedAt, answeredAt = Infinity } = asked;
      assert(askedAt <= Number(timestamp) && Number(timestamp) <= answeredAt, `${id} has another time`);
    }
    return this.#of(product).filter(([id, { answeredAt }]) => answeredAt !== undefined && !seen.has(id))
      .map(([id]) => id);
  }
}

export interface ProductLoad {
  /** The processes that get the requests. While there are none, clients wait. */
  readonly targets: Set<string>;
  stop(): Promise<void>;
}

/** Starts clients that send one request after the other, with short pauses. */
export function startProductLoad(
  { product, asked, random }: { product: string; asked: AskedUsage; random: Random },
): ProductLoad {
  const targets = new Set<string>();
  let isRunning = true;
  const client = async () => {
    while (isRunning) {
      if (targets.size > 0) await asked.send(random.pick([...targets]), product);
      await letOthersRun(random.between(1, 60));
    }
  };
  const running = Promise.all(Array.from({ length: 10 }, client));
  return {
    targets,
    async stop() {
      isRunning = false;
      await running;
    },
  };
}
