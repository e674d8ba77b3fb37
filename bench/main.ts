// The benchmark. Measures the figures in turn and, because machines are noisy, a bare Hono server in the same rounds.
// Results go to standard output. docs/performance.md says how to run parts of it.
import { type Account, countRecords } from "./account.ts";
import { measureBinary } from "./binary.ts";
import { chosenFigures, type Figure, figuresOf } from "./figures.ts";
import { cpuSeconds, requireWrk, runLoad } from "./load.ts";
import type { LoadRequest } from "./lua.ts";
import { figureLines, type Round, valueLine, verdict } from "./report.ts";
import { printLine, readSettings, runToEnd, SetUpError } from "./settings.ts";
import { type Site, SiteMissing, Sites } from "./sites.ts";

const warmUpSeconds = 1;
const bytesPerRecordMax = 200;
const sizeName = "size on disk";
const binaryName = "binary";

interface Ready {
  readonly figure: Figure;
  readonly site: Site;
  readonly request: LoadRequest;
  readonly rounds: Round[];
  /** Why it couldn't be measured, for example a response other than 2xx. Other figures continue. */
  failure?: string;
}

async function main(): Promise<void> {
  const settings = readSettings();
  await requireWrk();
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-bench-" });
  const sites = new Sites({ folder, records: settings.records, kept: settings.kept, print: printLine });
  const end = async () => {
    await sites.close();
    await Deno.remove(folder, { recursive: true });
  };
  // Don't leave gigabytes behind.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => void end().finally(() => Deno.exit(130)));
  }
  let isIncomplete = false;
  try {
    const figures = chosenFigures(figuresOf(settings.records), settings.only);
    const ready = await openAll(figures, sites);
    const isSizeChosen = settings.only.test(sizeName);
    if (isSizeChosen) await sites.open("full");
    const meter = await Acknowledged.begin(ready);
    for (const one of ready) meter.add(one.figure, await measure(one, warmUpSeconds));
    for (const { rounds } of ready) rounds.length = 0;
    printLine(
      `\n${navigator.hardwareConcurrency} cores, ${settings.rounds} rounds of ${settings.seconds} s for each figure, in turn; medians (all rounds)\n`,
    );
    for (let round = 0; round < settings.rounds; round++) {
      for (const one of ready) meter.add(one.figure, await measure(one, settings.seconds));
    }
    const measured = ready.filter(({ failure }) => failure === undefined);
    const all = new Map(measured.map(({ figure, rounds }) => [figure.name, rounds]));
    for (const { figure, rounds, failure } of ready) {
      if (failure !== undefined) printLine(`${figure.name}: FAILED: ${failure}`);
      else figureLines(figure, rounds, all).forEach(printLine);
    }
    if (isSizeChosen) printSize(await sites.open("full"));
    printLine(await meter.compare());
    isIncomplete = ready.some(({ failure }) => failure !== undefined);
  } finally {
    await end();
  }
  if (settings.only.test(binaryName)) await measureBinary(printLine);
  if (isIncomplete) throw new SetUpError("a figure failed");
}

async function openAll(figures: readonly Figure[], sites: Sites): Promise<Ready[]> {
  const ready: Ready[] = [];
  for (const figure of figures) {
    try {
      const site = await sites.open(figure.site);
      const request = await figure.request(site, (name) => sites.open(name));
      ready.push({ figure, site, request, rounds: [] });
    } catch (error) {
      if (!(error instanceof SiteMissing)) throw error;
      printLine(`skipped: ${figure.name}: ${error.message}`);
    }
  }
  return ready;
}

/** Measures one round. @returns The number of requests. */
async function measure(one: Ready, seconds: number): Promise<number> {
  const { figure, site, request } = one;
  if (one.failure !== undefined) return 0;
  const before = await cpuSeconds(site.pid);
  try {
    const result = await runLoad(request, { connections: figure.connections, seconds });
    one.rounds.push({
      perSecond: result.perSecond * Math.max(1, figure.records),
      p50Ms: result.p50Ms,
      p99Ms: result.p99Ms,
      serverCores: (await cpuSeconds(site.pid) - before) / seconds,
      loadCores: result.loadCores,
    });
    return result.requests;
  } catch (error) {
    one.failure = error instanceof Error ? error.message : String(error);
    return 0;
  }
}

/** A server, and the number of records of its key before the benchmark. */
interface CountedSite {
  readonly site: Site;
  readonly apiKey: Account["apiKeys"][number];
  readonly before: number;
}

/** Checks that the servers stored all acknowledged records. */
class Acknowledged {
  readonly #sites: readonly CountedSite[];
  readonly #records = new Map<Site, number>();
  readonly #siteOf: ReadonlyMap<Figure, Site>;

  private constructor(sites: readonly CountedSite[], siteOf: ReadonlyMap<Figure, Site>) {
    this.#sites = sites;
    this.#siteOf = siteOf;
  }

  static async begin(ready: readonly Ready[]): Promise<Acknowledged> {
    const sites: CountedSite[] = [];
    for (const site of new Set(ready.filter(({ figure }) => figure.records > 0).map(({ site }) => site))) {
      const [apiKey] = site.account.apiKeys;
      if (apiKey !== undefined) sites.push({ site, apiKey, before: await countRecords(site.origin, apiKey) });
    }
    return new Acknowledged(sites, new Map(ready.map(({ figure, site }) => [figure, site])));
  }

  add(figure: Figure, requests: number): void {
    const site = this.#siteOf.get(figure);
    if (site !== undefined) {
      this.#records.set(site, (this.#records.get(site) ?? 0) + requests * figure.records);
    }
  }

  /** @returns A line with the result. @throws When records are missing. */
  async compare(): Promise<string> {
    let acknowledged = 0;
    for (const { site, apiKey, before } of this.#sites) {
      const records = this.#records.get(site) ?? 0;
      const counted = await countRecords(site.origin, apiKey) - before;
      if (counted < records) {
        throw new Error(`${records} records were acknowledged, but only ${counted} are stored`);
      }
      acknowledged += records;
    }
    return `\n${acknowledged.toLocaleString("en")} acknowledged records, all stored`;
  }
}

function printSize({ filled }: Site): void {
  if (filled === undefined) return;
  const bytes = filled.bytes / filled.records;
  printLine(valueLine(
    sizeName,
    `${bytes.toFixed(1)} bytes per record with a key`,
    verdict({ atMost: bytesPerRecordMax }, bytes),
  ));
  const parts = filled.parts.map(({ name, bytes }) => `${name} ${(bytes / filled.records).toFixed(1)}`);
  printLine(`  ${parts.join(", ")}`);
}

if (import.meta.main) await runToEnd(main);
