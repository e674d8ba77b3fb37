// Measures how soon the compiled binary responds after its start, and how much memory it uses when idle.
import { startProgram } from "../tests/support/program.ts";
import { median } from "./load.ts";
import { valueLine, verdict } from "./report.ts";

const binary = new URL("../dist/gatehouse", import.meta.url).pathname;
const starts = 5;
const idleSeconds = 3;
const firstAnswerMsMax = 400;
const residentMbMax = 150;

/** Measures the binary. @param print Prints a line. */
export async function measureBinary(print: (line: string) => void): Promise<void> {
  const isThere = await Deno.stat(binary).then(() => true, () => false);
  if (!isThere) return print("\nno dist/gatehouse: run `./denow task compile` to measure the binary");
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-bench-" });
  const firstAnswers: number[] = [];
  const residentMb: number[] = [];
  // The first start creates the database. The others open it.
  for (let n = 0; n < starts; n++) {
    const begin = performance.now();
    const program = startProgram({ folder, binary });
    for (;;) {
      const response = await fetch(`${program.baseUrl}/health/ready`).catch(() => null);
      await response?.body?.cancel();
      if (response?.ok) break;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    firstAnswers.push(performance.now() - begin);
    await new Promise((resolve) => setTimeout(resolve, idleSeconds * 1000));
    const status = await Deno.readTextFile(`/proc/${program.pid}/status`);
    residentMb.push(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024);
    program.kill("SIGTERM");
    await program.ended();
  }
  await Deno.remove(folder, { recursive: true });
  const list = (values: readonly number[]) => values.map((value) => value.toFixed(0)).join(" ");
  const line = (
    name: string,
    { unit, values, atMost }: { unit: string; values: number[]; atMost: number },
  ) => {
    const middle = median(values);
    print(valueLine(name, `${middle.toFixed(0)} ${unit} (${list(values)})`, verdict({ atMost }, middle)));
  };
  line("binary, first response after start", {
    unit: "ms",
    values: firstAnswers,
    atMost: firstAnswerMsMax,
  });
  line(`binary, resident after ${idleSeconds} s idle`, {
    unit: "MB",
    values: residentMb,
    atMost: residentMbMax,
  });
}
