// Where the time goes: starts the server under V8's profiler, puts the load of one figure on it, and prints the
// functions with the most time of their own, for each thread. Arguments: a pattern of figures' names, and seconds.
import { figuresOf } from "./figures.ts";
import { requireWrk, runLoad } from "./load.ts";
import { Sites } from "./sites.ts";

/** The part of a `.cpuprofile` that is read. Times in microseconds. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const functionsShown = 25;
/** Enough for a profile of reading: the rollups of every quarter are there. */
const records = 1_000_000;

async function main(pattern: string | undefined, seconds: number): Promise<void> {
  const only = new RegExp(pattern ?? "^singles$");
  const figure = figuresOf(records).find(({ name, site }) => only.test(name) && site !== "echo");
  if (figure === undefined) throw new Error(`no figure is called ${only}`);
  await requireWrk();
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-profile-" });
  const sites = new Sites({ folder, records, kept: undefined, print, profileFolder: folder });
  try {
    const site = await sites.open(figure.site);
    const request = await figure.request(site, (name) => sites.open(name));
    const { requests, perSecond } = await runLoad(request, { connections: figure.connections, seconds });
    print(`${figure.name}: ${Math.round(perSecond)} requests a second under the profiler`);
    // The server writes its profiles when it ends.
    await sites.close();
    for await (const { name } of Deno.readDir(folder)) {
      if (!name.endsWith(".cpuprofile")) continue;
      const profile = JSON.parse(await Deno.readTextFile(`${folder}/${name}`)) as CpuProfile;
      const thread = /\.(worker-\d+)\./.exec(name)?.[1] ?? "main thread";
      print(`\n${thread}: microseconds of its own for each request`);
      selfTimes(profile).slice(0, functionsShown).forEach(([place, microseconds]) => {
        print(`${(microseconds / requests).toFixed(2).padStart(9)}  ${place}`);
      });
    }
  } finally {
    await sites.close();
    await Deno.remove(folder, { recursive: true });
  }
}

/** @returns Functions with the microseconds that they took themselves, most first. */
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

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

if (import.meta.main) await main(Deno.args[0], Number(Deno.args[1] ?? 5));
