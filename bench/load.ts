// Runs wrk, the load generator, and reads what it says. What it sends is a Lua script, see lua.ts.
import { type LoadRequest, luaScript } from "./lua.ts";
import { SetUpError } from "./settings.ts";

/** What one run measured. Times in milliseconds. */
export interface LoadResult {
  /** Requests that were answered, all of them with 2xx. */
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** How much of one core wrk itself took: near 1 it is wrk that is measured. */
  readonly loadCores: number;
}

/** Answers may take this long before wrk counts them as lost. */
const answerSeconds = 20;

/** @throws {SetUpError} When wrk is not there. */
export async function requireWrk(): Promise<void> {
  try {
    await new Deno.Command("wrk", { args: ["-v"], stdin: "null", stdout: "null", stderr: "null" }).output();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new SetUpError("it needs wrk, the load generator, on the PATH: `apt install wrk`, or its like");
  }
}

/**
 * @param request What to send.
 * @param options `seconds`: how long.
 * @throws When any answer was not 2xx.
 */
export async function runLoad(
  request: LoadRequest,
  options: { connections: number; seconds: number },
): Promise<LoadResult> {
  const script = await Deno.makeTempFile({ suffix: ".lua" });
  await Deno.writeTextFile(script, luaScript(request));
  // The shell tells what its child took: nothing else does when the child has ended.
  const { stdout, stderr, success } = await new Deno.Command("sh", {
    args: [
      "-c",
      '"$@"; status=$?; times; exit $status',
      "sh",
      "wrk",
      "-t1",
      `-c${options.connections}`,
      `-d${options.seconds}s`,
      `--timeout=${answerSeconds}s`,
      "--latency",
      "-s",
      script,
      request.url,
    ],
    stdin: "null",
  }).output();
  await Deno.remove(script);
  const text = new TextDecoder().decode(stdout);
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  if (/Non-2xx|Socket errors/.test(text)) throw new Error(`${request.method} ${request.url}:\n${text}`);
  const [, requests, seconds] = /(\d+) requests in ([\d.]+)s/.exec(text) ?? [];
  return {
    requests: Number(requests),
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]),
    p50Ms: percentileMs(text, 50),
    p99Ms: percentileMs(text, 99),
    loadCores: childSeconds(text) / Number(seconds),
  };
}

/** @returns The seconds of processor time that a process took so far; NaN where nobody says. */
export async function cpuSeconds(pid: number): Promise<number> {
  const text = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  // After the name, which may hold spaces: state is the first, user and system time are the 12th and 13th.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** The unit of /proc on every Linux. */
const ticksPerSecond = 100;

function percentileMs(text: string, percent: number): number {
  const [, value = "", unit = ""] = new RegExp(`${percent}%\\s+([\\d.]+)(us|ms|s)`).exec(text) ?? [];
  return Number(value) * (unit === "us" ? 0.001 : unit === "s" ? 1000 : 1);
}

function childSeconds(text: string): number {
  const last = text.trimEnd().split("\n").at(-1) ?? "";
  const times = [...last.matchAll(/(\d+)m([\d.]+)s/g)];
  return times.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0);
}

/** @returns The middle value. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
