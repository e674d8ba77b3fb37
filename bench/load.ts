// Runs the load generator wrk, which sends as fast as the server responds, with a script from lua.ts, and parses its output.
import { type LoadRequest, luaScript } from "./lua.ts";
import { SetUpError } from "./settings.ts";

/** The result of one run. Times in milliseconds. */
export interface LoadResult {
  /** Number of requests, which all got a 2xx. */
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Cores used by the load generator, which has one thread. Near 1, it is the bottleneck. */
  readonly loadCores: number;
}

/** Timeout of a request, in seconds. */
const answerSeconds = 20;

/** @throws {SetUpError} When wrk isn't installed. */
export async function requireWrk(): Promise<void> {
  try {
    await new Deno.Command("wrk", { args: ["-v"], stdin: "null", stdout: "null", stderr: "null" }).output();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new SetUpError("install the load generator wrk first, for example with `apt install wrk`");
  }
}

/**
 * Sends a request repeatedly over many connections.
 *
 * @param request The request to send.
 * @param options `seconds`: how long to send.
 * @throws When any response isn't 2xx.
 */
export async function runLoad(
  request: LoadRequest,
  options: { connections: number; seconds: number },
): Promise<LoadResult> {
  const script = await Deno.makeTempFile({ suffix: ".lua" });
  await Deno.writeTextFile(script, luaScript(request));
  // Only the shell knows the processor time of its child after the child has exited.
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

function percentileMs(text: string, percent: number): number {
  const [, value = "", unit = ""] = new RegExp(`${percent}%\\s+([\\d.]+)(us|ms|s)`).exec(text) ?? [];
  return Number(value) * (unit === "us" ? 0.001 : unit === "s" ? 1000 : 1);
}

function childSeconds(text: string): number {
  const last = text.trimEnd().split("\n").at(-1) ?? "";
  const times = [...last.matchAll(/(\d+)m([\d.]+)s/g)];
  return times.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0);
}
