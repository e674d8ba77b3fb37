// Profiles the server with V8's profiler under the load of one figure, and prints the functions with the most self time
// in each thread. BENCH_ONLY selects the figure, and BENCH_SECONDS the duration.
import { figuresOf } from "./figures.ts";
import { requireWrk, runLoad } from "./load.ts";
import { printLine, readSettings, runToEnd, SetUpError } from "./settings.ts";
import { Sites } from "./sites.ts";

/** The parts of a `.cpuprofile` used here. Times in microseconds. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Omits functions with less than this share of the thread's time. */
const partShown = 0.004;

async function main(): Promise<void> {
  const { seconds, only, ...settings } = readSettings();
  const figure = figuresOf(settings).find(({ name, site }) => only.test(name) && site !== "echo");
  if (figure === undefined) throw new SetUpError(`BENCH_ONLY: no server figure matches ${only}`);
  await requireWrk();
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-profile-" });
  const sites = new Sites({ ...settings, folder, print: printLine, profileFolder: folder });
  try {
    const site = await sites.open(figure.site);
    const request = await figure.request(site);
    const { requests, perSecond } = await runLoad(request, { connections: figure.connections, seconds });
    printLine(`${figure.name}: ${Math.round(perSecond)} requests a second under the profiler`);
    // The server writes its profiles when it exits.
    await sites.close();
    for await (const { name } of Deno.readDir(folder)) {
      if (!name.endsWith(".cpuprofile")) continue;
      const profile = JSON.parse(await Deno.readTextFile(`${folder}/${name}`)) as CpuProfile;
      const thread = /\.(worker-\d+)\./.exec(name)?.[1] ?? "main thread";
      printLine(`\n${thread}: microseconds of self time per request`);
      const times = selfTimes(profile);
      const least = times.reduce((sum, [, microseconds]) => sum + microseconds, 0) * partShown;
      times.filter(([, microseconds]) => microseconds >= least).forEach(([place, microseconds]) => {
        printLine(`${(microseconds / requests).toFixed(2).padStart(9)}  ${place}`);
      });
    }
  } finally {
    await sites.close();
    await Deno.remove(folder, { recursive: true });
  }
}

/** @returns Functions with their self time in microseconds, slowest first. */
function selfTimes(profile: CpuProfile): [place: string, microseconds: number][] {
  const places = new Map(profile.nodes.map(({ id, callFrame }) => {
    const file = callFrame.url.replace(/^.*\/(?=[^/]+\/[^/]+$)/, "");
    return [
      id,
      `${callFrame.functionName || "(anonymous)"} ${
        file === "" ? "" : `${file}:${callFrame.lineNumber + 1}`
      }`,
    ];
  }));
  const times = new Map<string, number>();
  profile.samples.forEach((sample, n) => {
    const place = places.get(sample) ?? "";
    times.set(place, (times.get(place) ?? 0) + (profile.timeDeltas[n] ?? 0));
  });
  return [...times].sort(([, a], [, b]) => b - a);
}

if (import.meta.main) await runToEnd(main);
