// Compares a server with a continuous backup to a folder with one without: the rate and the 99th percentile of single records, in turn
// within one run. Run it with `deno run --no-prompt --allow-all bench/stream.ts`. BENCH_ROUNDS and BENCH_SECONDS as in main.ts.
import { backupIs, backupKey, segmentsIn } from "../tests/support/process/continuous.ts";
import { inScene, type Scene, stop } from "../tests/support/process/scene.ts";
import { signUp } from "./account.ts";
import { processorMs } from "./cpu.ts";
import { type LoadResult, requireWrk, runLoad } from "./load.ts";
import type { LoadRequest } from "./lua.ts";
import { printLine, runToEnd, whole } from "./settings.ts";
import { median } from "./statistics.ts";

const rounds = whole("BENCH_ROUNDS", 9);
const seconds = whole("BENCH_SECONDS", 5);
const connections = whole("BENCH_CONNECTIONS", 64);

type Round = LoadResult & { readonly costs: number };

async function main(): Promise<void> {
  await requireWrk();
  const target = await Deno.makeTempDir({ prefix: "gatehouse-target-" });
  const env = { HTTP_THREADS: "2", LOG_LEVEL: "warning", API_KEY_REQUESTS_PER_SECOND: "0" };
  const streaming = { ...env, BACKUP_STREAM_TO: target, BACKUP_ENCRYPTION_KEY: backupKey };
  try {
    await inScene({ env }, (without) =>
      inScene({ env: streaming }, async (with_) => {
        await Promise.all([without, with_].map((scene) => scene.start()));
        await backupIs(with_.baseUrl, "ok");
        print(await measure({ without, with: with_ }));
        await stop(with_.program);
        const heads = segmentsIn(target).map(({ head }) => head);
        const changes = (what: "roundFrom" | "chain") => new Set(heads.map((head) => head[what])).size - 1;
        printLine(`${heads.length} segments, ${changes("roundFrom")} turns, ${changes("chain")} gaps`);
      }));
  } finally {
    await Deno.remove(target, { recursive: true });
  }
}

type Measured = Record<"with" | "without", Round[]>;

async function measure(scenes: Record<"with" | "without", Scene>): Promise<Measured> {
  const requests = {
    with: await requestOf(scenes.with.baseUrl),
    without: await requestOf(scenes.without.baseUrl),
  };
  const all: Measured = { with: [], without: [] };
  for (let round = -1; round < rounds; round++) {
    for (const which of round % 2 === 0 ? ["with", "without"] as const : ["without", "with"] as const) {
      const { pid } = scenes[which].program;
      const before = await processorMs(pid);
      const result = await runLoad(requests[which], { connections, seconds });
      const costs = (await processorMs(pid) - before) * 1_000 / result.requests;
      if (round >= 0) all[which].push({ ...result, costs });
    }
  }
  return all;
}

async function requestOf(baseUrl: string): Promise<LoadRequest> {
  const { apiKeys } = await signUp(baseUrl, { keys: 1 });
  return {
    method: "POST",
    url: `${baseUrl.replace("localhost", "127.0.0.1")}/api/v1/usage`,
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${apiKeys[0]?.fullKey}` },
    body: JSON.stringify({ productSlug: "models", metric: "tokens", quantity: 1 }),
  };
}

function print(all: Measured): void {
  for (const [what, of] of Object.entries(figures)) {
    const [one, other] = [median(all.with.map(of)), median(all.without.map(of))];
    const ratio = median(all.with.map((round, n) => of(round) / of(all.without[n] as Round)));
    printLine(`${what}: ${one.toFixed(1)} with, ${other.toFixed(1)} without, ratio ${ratio.toFixed(3)}`);
  }
}

const figures: Record<string, (round: Round) => number> = {
  "records a second": ({ perSecond }) => perSecond,
  "p50 in ms": ({ p50Ms }) => p50Ms,
  "p99 in ms": ({ p99Ms }) => p99Ms,
  "µs of CPU for each": ({ costs }) => costs,
};

await runToEnd(main, "bench/stream.ts");
