// Meters of both clients with the same methods, so that they run the same cases: TypeScript's in this process, Python's in one
// of its own.
import type { Meter, MeterOptions, MeterStats, Usage } from "../../../packages/client/src/meter/meter.ts";
import { orphan } from "./meter_folder.ts";
import type { MeterSteps, Scene } from "./meter_scene.ts";
import { drive, inPython, literal } from "./python_meter.ts";
import { isMissing } from "../runner/needs.ts";

export type Language = "TypeScript" | "Python";
/** The languages of the clients that can run here. */
export const languages: readonly Language[] = isMissing("python3")
  ? ["TypeScript"]
  : ["TypeScript", "Python"];

export interface AnyMeter {
  record(...usages: readonly Usage[]): Promise<void>;
  flush(options?: { timeoutMs?: number }): Promise<boolean>;
  sync(): Promise<boolean>;
  close(options?: { timeoutMs?: number }): Promise<boolean>;
  stats(): Promise<MeterStats>;
  /** Leaves its spool as a killed process does. */
  abandon(): Promise<void>;
}

export interface CaseScene extends Omit<Scene, "newMeter"> {
  readonly language: Language;
  /** Creates a meter, which sends only full batches until it is flushed. */
  newMeter(options?: MeterOptions): AnyMeter;
  /**
   * Creates a meter with each spool, whose folder first gets the mode if there is one, and closes it.
   *
   * @param user Default: the user of this process. @returns The error of each, or an empty text, and the mode afterwards.
   */
  errorsOf(
    spools: readonly (readonly [path: string, mode?: number])[],
    user?: number,
  ): Promise<[error: string, mode: number][]>;
}

/** @returns A step for each case and language. @param sceneOf Adds what is of the language to a scene. */
export function eachLanguage<Given>(
  cases: Readonly<Record<string, (given: Given) => Promise<void>>>,
  sceneOf: (scene: Scene, language: Language) => Given,
): MeterSteps {
  const steps = Object.entries(cases).flatMap(([name, run]) =>
    languages.map((language) => [`${language}: ${name}`, (scene: Scene) => run(sceneOf(scene, language))])
  );
  return Object.fromEntries(steps);
}

export function inEachLanguage(cases: Parameters<typeof eachLanguage<CaseScene>>[0]): MeterSteps {
  return eachLanguage(cases, (scene, language) => {
    const { newMeter, errorsOf } = language === "Python" ? pythonMeters : typeScriptMeters;
    return { ...scene, language, newMeter: (options) => newMeter(scene, options), errorsOf };
  });
}

interface Meters {
  newMeter(scene: Scene, options?: MeterOptions): AnyMeter;
  errorsOf: CaseScene["errorsOf"];
}

/** For a machine that does much else. */
const patience: { timeoutMs?: number } = { timeoutMs: 60_000 };
const unused = { url: "http://127.0.0.1:1", apiKey: "unused" };
const meterUrl = new URL("../../../packages/client/src/meter/meter.ts", import.meta.url).href;

const typeScriptMeters: Meters = {
  newMeter(scene, options = {}) {
    let isAbandoned = false;
    // A killed process sends nothing more.
    const sending: typeof fetch = (input, init) =>
      isAbandoned ? Promise.reject(new TypeError("killed")) : fetch(input, init);
    const meter: Meter = scene.newMeter({ fetch: sending, ...options });
    return {
      record(...usages) {
        for (const usage of usages) meter.record(usage);
        return Promise.resolve();
      },
      flush: (given = patience) => meter.flush(given),
      sync: () => meter.sync(),
      close: (given = patience) => meter.close(given),
      stats: () => Promise.resolve(meter.stats()),
      abandon() {
        isAbandoned = true;
        return orphan(options.spool ?? "");
      },
    };
  },
  async errorsOf(spools, user = Deno.uid() ?? 0) {
    const script = `import process from "node:process";
      import { Meter } from ${JSON.stringify(meterUrl)};
      process.seteuid(${user});
      const results = [];
      for (const [spool, mode] of ${JSON.stringify(spools)}) {
        if (mode !== undefined) Deno.chmodSync(spool, mode);
        const created = Promise.try(() => new Meter({ ...${JSON.stringify(unused)}, spool }).close());
        const error = await created.then(() => "", String);
        results.push([error, Deno.statSync(spool).mode & 0o1777]);
      }
      console.log(JSON.stringify(results));`;
    const args = ["eval", "--no-config", script];
    const { stdout } = await new Deno.Command(Deno.execPath(), { args, env: { NO_COLOR: "1" } }).output();
    return JSON.parse(new TextDecoder().decode(stdout));
  },
};

const pythonMeters: Meters = {
  newMeter(scene, options = {}) {
    const { line, key, problems } = scene;
    const credential = options.operatorToken === undefined ? { apiKey: key } : {};
    const given = inPython({
      url: line.url,
      ...credential,
      flushIntervalMs: 3_600_000,
      ...patience,
      ...options,
    });
    const driven = drive(given, { problems });
    scene.onEnd(() => driven.kill());
    const ask = async (method: string, timeoutMs?: number) =>
      (await driven.run(`result = meter.${method}(${timeoutMs === undefined ? "" : timeoutMs / 1000})`))
        .result as boolean;
    return {
      async record(...usages) {
        await driven.run(`for usage in ${literal(usages.map(inPython))}: record(usage)`);
      },
      flush: ({ timeoutMs } = patience) => ask("flush", timeoutMs),
      sync: () => ask("sync"),
      close: ({ timeoutMs } = patience) => ask("close", timeoutMs),
      async stats() {
        const { result: _, ...stats } = await driven.run("");
        return stats;
      },
      abandon: () => driven.kill(),
    };
  },
  async errorsOf(spools, user) {
    const driven = drive(inPython(unused));
    try {
      if (user !== undefined) await driven.run(`os.seteuid(${user})`);
      const results: [string, number][] = [];
      for (const [spool, mode] of spools) {
        if (mode !== undefined) await driven.run(`os.chmod(${literal(spool)}, ${mode})`);
        const { result } = await driven.run(`Meter(**${literal(inPython({ ...unused, spool }))}).close()`);
        results.push([String(result ?? ""), (await Deno.stat(spool)).mode! & 0o1777]);
      }
      return results;
    } finally {
      await driven.kill();
    }
  },
};
