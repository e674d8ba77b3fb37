// Measures the most memory that the largest requests take, many at the same time, each kind with a new server. Run it with
// `deno run --no-prompt --allow-all --unstable-net bench/memory.ts [NAME]`. BENCH_BINARY selects a compiled program, HTTP_THREADS the number of threads.
import {
  batches,
  besideNeighbor,
  type MemoryLoad,
  memoryOf,
  memoryScene,
  type Statuses,
  unfinishedBodies,
} from "../tests/support/process/memory_loads.ts";
import { isReady, killProgram, startProgram } from "../tests/support/process/program.ts";
import * as more from "./memory_loads.ts";
import { printLine, runToEnd } from "./settings.ts";

const seconds = 8;
const kinds = { batches, unfinishedBodies, ...more };

/** Prints one line: memory, statuses, and the wait of a neighbor. */
async function measure(name: string, load: MemoryLoad): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-memory-" });
  const binary = Deno.env.get("BENCH_BINARY");
  const program = startProgram({
    folder,
    ...(binary === undefined ? {} : { binary }),
    env: { LOG_LEVEL: "error", API_KEY_REQUESTS_PER_SECOND: "0" },
  });
  try {
    await isReady(program);
    const scene = await memoryScene(program, folder);
    const { now: before } = await memoryOf(program);
    const { result, statuses, waitMsMax } = await besideNeighbor(
      scene,
      load(scene, { ms: seconds * 1_000 }),
    );
    const { most } = await memoryOf(program);
    const text = (all: Statuses) => [...all].map(([status, n]) => `${n} × ${status}`).join(", ");
    printLine(
      `${name.padEnd(18)} ${before} MB before, ${most} MB at most; ${text(result)}; neighbor ${
        text(statuses)
      }, longest wait ${Math.round(waitMsMax)} ms`,
    );
  } catch (error) {
    printLine(`${name.padEnd(18)} FAILED: ${String(error)}\n${program.output().slice(-2_000)}`);
  } finally {
    await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
}

await runToEnd(async () => {
  const [only = ""] = Deno.args;
  for (const [name, load] of Object.entries(kinds)) if (name.includes(only)) await measure(name, load);
});
