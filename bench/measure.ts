// Measures one figure for one round, and checks at the end that the servers stored all acknowledged records.
import { type Account, countRecords } from "./account.ts";
import { CpuMeter, type CpuTime, totalOf } from "./cpu.ts";
import type { Figure, Measure } from "./figures.ts";
import { type LoadResult, runLoad } from "./load.ts";
import type { LoadRequest } from "./lua.ts";
import { runPaced } from "./pace.ts";
import { type Site, SiteMissing, type Sites } from "./sites.ts";

/** The results of one round. */
export interface Round extends Readonly<Record<Measure, number>> {
  /** Processor time per request. */
  readonly cpu: CpuTime;
  /** Number of threads that serve HTTP. */
  readonly httpThreads: number;
  readonly serverCores: number;
  readonly loadCores: number;
  /** Of the requests that were sent meanwhile: records per second, and response time. */
  readonly meanwhile?: { readonly perSecond: number; readonly p99Ms: number };
}

/** A figure whose site is running. */
export interface Ready {
  readonly figure: Figure;
  readonly site: Site;
  readonly rounds: Round[];
  /** Why it couldn't be measured, for example a response other than 2xx. Other figures continue. */
  failure?: string;
}

interface Prepared extends Ready {
  readonly request: LoadRequest;
  readonly meanwhile: LoadRequest | undefined;
}

/** A server under load. */
interface Server {
  readonly cpu: CpuMeter;
  readonly apiKey: Account["apiKeys"][number] | undefined;
  /** Number of records before the benchmark. */
  readonly before: number;
  /** Number of records acknowledged since then. */
  acknowledged: number;
}

/** Connections of the requests that are sent meanwhile. */
const meanwhileConnections = 32;
/** How long to look for the threads that serve HTTP. */
const lookSeconds = 1;
const lookConnections = 128;

/** Measures figures in turn. */
export class Measurement {
  readonly ready: readonly Ready[];
  readonly #prepared: readonly Prepared[];
  readonly #servers: ReadonlyMap<Site, Server>;

  private constructor(prepared: readonly Prepared[], servers: ReadonlyMap<Site, Server>) {
    this.ready = this.#prepared = prepared;
    this.#servers = servers;
  }

  /** Starts the sites of figures. @param options `print`: prints which figures are skipped because a site can't run here. */
  static async prepare(
    figures: readonly Figure[],
    { sites, print }: { sites: Sites; print: (line: string) => void },
  ): Promise<Measurement> {
    const prepared: Prepared[] = [];
    const servers = new Map<Site, Server>();
    for (const figure of figures) {
      try {
        const site = await sites.open(figure.site);
        const request = await figure.request(site);
        const meanwhile = await figure.meanwhile?.request(site);
        prepared.push({ figure, site, request, meanwhile, rounds: [] });
        if (!servers.has(site)) servers.set(site, await lookAt(site));
      } catch (error) {
        if (!(error instanceof SiteMissing)) throw error;
        print(`skipped: ${figure.name}: ${error.message}`);
      }
    }
    return new Measurement(prepared, servers);
  }

  /** Measures each figure once. @param seconds How long each. */
  async round(seconds: number): Promise<void> {
    for (const one of this.#prepared) {
      if (one.failure !== undefined) continue;
      try {
        one.rounds.push(await this.#measure(one, seconds));
      } catch (error) {
        one.failure = error instanceof Error ? error.message : String(error);
      }
    }
  }

  /** Forgets the rounds so far. */
  forget(): void {
    for (const { rounds } of this.ready) rounds.length = 0;
  }

  async #measure(one: Prepared, seconds: number): Promise<Round> {
    const { figure, request } = one;
    const server = this.#servers.get(one.site);
    if (server === undefined) throw new Error("no server");
    await server.cpu.begin();
    const [result, beside] = await Promise.all([
      figure.halfRateOf === undefined
        ? runLoad(request, { connections: figure.connections, seconds })
        : runPaced(request, {
          connections: figure.connections,
          seconds,
          perSecond: this.#rateOf(figure.halfRateOf) / 2,
        }),
      this.#sendMeanwhile(one, seconds),
    ]);
    const cpu = await server.cpu.end();
    server.acknowledged += result.requests * figure.records +
      (beside?.requests ?? 0) * (figure.meanwhile?.records ?? 0);
    const each = (microseconds: number) => microseconds / result.requests;
    return {
      perSecond: result.perSecond * Math.max(1, figure.records),
      p50Ms: result.p50Ms,
      p99Ms: result.p99Ms,
      totalCpu: each(totalOf(cpu)),
      httpCpu: each(cpu.http),
      cpu: { http: each(cpu.http), workers: each(cpu.workers), runtime: each(cpu.runtime) },
      httpThreads: server.cpu.httpThreads,
      serverCores: totalOf(cpu) / 1e6 / seconds,
      loadCores: result.loadCores + (beside?.loadCores ?? 0),
      ...(beside === undefined ? {} : {
        meanwhile: { perSecond: beside.perSecond * (figure.meanwhile?.records ?? 0), p99Ms: beside.p99Ms },
      }),
    };
  }

  async #sendMeanwhile({ figure, meanwhile }: Prepared, seconds: number): Promise<LoadResult | undefined> {
    if (meanwhile === undefined || figure.meanwhile === undefined) return undefined;
    const { perSecond } = figure.meanwhile;
    return await runPaced(meanwhile, { connections: meanwhileConnections, seconds, perSecond });
  }

  /** @returns Requests per second of a figure in its last round. */
  #rateOf(name: string): number {
    const found = this.ready.find(({ figure }) => figure.name === name);
    const rate = found?.rounds.at(-1)?.perSecond;
    if (rate === undefined) throw new Error(`${name}: not measured`);
    return rate;
  }

  /** @returns The number of records that were acknowledged and are stored. @throws When records are missing. */
  async compareRecords(): Promise<number> {
    let all = 0;
    for (const [{ origin }, { apiKey, before, acknowledged }] of this.#servers) {
      if (apiKey === undefined || acknowledged === 0) continue;
      const counted = await countRecords(origin, apiKey) - before;
      if (counted < acknowledged) {
        throw new Error(`${acknowledged} records were acknowledged, but only ${counted} are stored`);
      }
      all += acknowledged;
    }
    return all;
  }
}

async function lookAt(site: Site): Promise<Server> {
  const load = (request: LoadRequest) =>
    runLoad(request, { connections: lookConnections, seconds: lookSeconds });
  const cpu = await CpuMeter.create(site, load);
  const [apiKey] = site.account.apiKeys;
  const before = apiKey === undefined ? 0 : await countRecords(site.origin, apiKey);
  return { cpu, apiKey, before, acknowledged: 0 };
}
