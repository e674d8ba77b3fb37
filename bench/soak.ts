// Sends mixed traffic to the real program for minutes or hours, and prints by minute how it does. Fails if memory, the log or
// descriptors grow, if a request fails, or if what was acknowledged isn't what is stored.
import { resolve } from "node:path";
import { checkAllUsage, storedInFile } from "../tests/support/meter/stored_usage.ts";
import { fromMillionths } from "../tests/support/meter/usage.ts";
import { runCommand } from "../tests/support/process/command.ts";
import { sendJson } from "../tests/support/process/journey.ts";
import { isReady, killProgram, type Program, startProgram } from "../tests/support/process/program.ts";
import { seededRandom } from "../tests/support/runner/random.ts";
import { positive, printLine, runToEnd, SetUpError, whole } from "./settings.ts";
import { growth, judgedSecondsMin, parseSample, type Sample, tableHead, tableLine } from "./soak_samples.ts";
import { type Kind, kinds, prepare, type RequestOptions, type Scene, type Turn } from "./soak_traffic.ts";

const sampleSeconds = 5;
const compiled = new URL("../dist/gatehouse", import.meta.url).pathname;

/** Runs a soak, which {@linkcode run} describes, on one program. */
class Soak {
  readonly seconds = positive("SOAK_MINUTES", 10) * 60;
  /** Turns per second. A turn is a request, or up to four. */
  readonly rate = positive("SOAK_RATE", 100);
  readonly threads = whole("SOAK_THREADS", 2);
  /** Sentences about what went wrong, each once. */
  readonly failures = new Set<string>();
  readonly samples: Sample[] = [];
  #timings: { ms: number; isError: boolean }[] = [];
  readonly #open = new Set<Promise<unknown>>();
  readonly #begin = performance.now();

  #elapsed(): number {
    return (performance.now() - this.#begin) / 1_000;
  }

  /** Does something meanwhile. */
  #start(action: Promise<unknown>): void {
    const watched: Promise<unknown> = action.catch((error) => this.failures.add(String(error)))
      .finally(() => this.#open.delete(watched));
    this.#open.add(watched);
  }

  /** Sends traffic at a steady rate, and prints the table. Resolves when all requests have a response. */
  async run(program: Program, scene: Scene, backup: () => Promise<void>): Promise<void> {
    const next = turns(scene);
    const from = this.#elapsed();
    let [minutes, samples, sent, backups] = [0, 0, 0, 0];
    const printMinute = () => {
      const taken = this.samples.filter(({ seconds }) => Math.floor(seconds / 60) === minutes);
      minutes++;
      printLine(tableLine(minutes, { timings: this.#timings, samples: taken, threads: this.threads }));
      this.#timings = [];
    };
    for (let now = 0; now < this.seconds; now = this.#elapsed() - from) {
      for (; sent < now * this.rate; sent++) {
        this.#start(next(sent / this.rate).send(this.#turn(scene, from + sent / this.rate)));
      }
      if (now >= samples * sampleSeconds && ++samples) this.#start(this.#sample(program, now));
      if (now >= this.seconds / 2 && backups++ === 0) this.#start(backup());
      if (now >= (minutes + 1) * 60) printMinute();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(this.#open);
    printMinute();
  }

  async #sample({ baseUrl, output }: Program, seconds: number): Promise<void> {
    const text = await (await fetch(`${baseUrl}/metrics`)).text();
    this.samples.push(parseSample(text, { seconds, output: output().length }));
  }

  /** The first request counts from when the turn was due, so that waiting is not hidden. */
  #turn(scene: Scene, dueAt: number): Turn {
    let due: number | undefined = dueAt;
    const time = async (send: () => Promise<string | null>) => {
      const from = due ?? this.#elapsed();
      due = undefined;
      const failure = await send().catch(String);
      if (failure !== null) this.failures.add(failure);
      this.#timings.push({ ms: (this.#elapsed() - from) * 1_000, isError: failure !== null });
    };
    const request = async (path: string, { expect = 200, ...options }: RequestOptions = {}) => {
      let response = Response.error();
      await time(async () => {
        response = await sendJson(scene.baseUrl, path, options);
        return response.status === expect ? null : `${path}: ${response.status}, expected ${expect}`;
      });
      return response;
    };
    return { ...scene, time, request };
  }
}

/** Returns a function that chooses the kind of the next turn. */
function turns({ random }: Scene): (dueAt: number) => Kind {
  const often = kinds.flatMap((kind) => Array.from({ length: kind.share ?? 0 }, () => kind));
  const rare = kinds.flatMap(({ everySeconds, ...kind }) =>
    everySeconds ? { everySeconds, kind, at: 0 } : []
  );
  return (dueAt) => {
    const due = rare.find(({ at }) => dueAt >= at);
    if (due === undefined) return random.pick(often);
    due.at += due.everySeconds;
    return due.kind;
  };
}

/** Compares the sums of the usage API with what was acknowledged. Returns a sentence about a difference. */
async function differentSums({ baseUrl, ledger, apiKeys: [apiKey = ""] }: Scene): Promise<string | null> {
  const sums = new Map<string, { count: number; micros: bigint }>();
  for (const { json: { metric }, micros, isAcknowledged, voided } of ledger.records.values()) {
    if (!isAcknowledged || voided === "yes") continue;
    const sum = sums.get(metric) ?? { count: 0, micros: 0n };
    sums.set(metric, { count: sum.count + 1, micros: sum.micros + micros });
  }
  const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const path = `/api/v1/usage?window=total&from=${day(-2)}&to=${day(2)}`;
  const { data } = await (await sendJson(baseUrl, path, { apiKey })).json();
  const line = (metric: string, count: number, sum: number) => `${metric}: ${count} records, sum ${sum}`;
  const acknowledged = [...sums].map(([name, { count, micros }]) =>
    line(name, count, fromMillionths(micros))
  );
  const stored = data.map((row: Record<"metric" | "count" | "sum", never>) =>
    line(row.metric, row.count, row.sum)
  );
  const [wanted, found] = [acknowledged, stored].map((lines) => lines.sort().join("; "));
  return wanted === found ? null : `acknowledged: ${wanted}; the API has ${found}`;
}

async function main(): Promise<void> {
  const soak = new Soak();
  const isCompiled = await Deno.stat(compiled).then(() => true, () => false);
  // An empty value asks for the source.
  const asked = Deno.env.get("SOAK_BINARY") ?? (isCompiled ? compiled : "");
  const binary = asked && resolve(asked);
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-soak-" });
  const env = {
    HTTP_THREADS: String(soak.threads),
    API_KEY_REQUESTS_PER_SECOND: "0",
    WEBHOOK_ALLOWED_HOSTS: "127.0.0.0/8",
  };
  const options = { folder, env, ...(binary === "" ? {} : { binary }) };
  const program = startProgram(options);
  let ending: Promise<void> | undefined;
  const end = () => ending ??= killProgram(program).then(() => Deno.remove(folder, { recursive: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => void end().finally(() => Deno.exit(130)));
  }
  const command = async (...args: string[]) => {
    const { status, stdout, stderr } = await runCommand(options, ...args);
    if (status !== 0) throw new Error(`gatehouse ${args[0]}: ${stderr}`);
    return stdout.trim();
  };
  try {
    await isReady(program);
    const scene = await prepare(program, { random: seededRandom(Date.now()), command });
    printLine(`${binary || "main.ts"}, ${soak.threads} HTTP threads, ${soak.rate} requests a second\n`);
    tableHead(soak.threads).forEach(printLine);
    await soak.run(program, scene, async () => void await command("backup", `${folder}/backup.db`));
    const difference = await differentSums(scene);
    if (difference !== null) soak.failures.add(difference);
    program.kill("SIGTERM");
    const status = await program.ended();
    if (status !== 0) soak.failures.add(`the program exited with ${status}: ${program.output()}`);
    const stored = await storedInFile(`${folder}/data/gatehouse.db`);
    await checkAllUsage(stored, scene.ledger).catch((error) => soak.failures.add(error.message))
      .finally(() => stored.close());
    printLine(`\n${scene.ledger.acknowledged.toLocaleString("en")} acknowledged records`);
  } finally {
    await end();
  }
  const failures = [...soak.failures, ...growth(soak.samples, soak)];
  if (failures.length > 0) throw new SetUpError(failures.join("\n"));
  const isShort = soak.seconds < judgedSecondsMin;
  printLine(`All are stored, and nothing else.${isShort ? "" : " Memory, log and descriptors are flat."}`);
}

if (import.meta.main) await runToEnd(main, "soak");
