// Runs wrk, the load generator, and reads what it says.

/** What one run measured. */
export interface WrkResult {
  readonly perSecond: number;
  readonly p99Ms: number;
}

/**
 * @param options `script`: Lua for wrk. `seconds`: how long.
 * @returns Requests a second and the 99th percentile.
 * @throws When any answer was not 2xx, or wrk is missing.
 */
export async function runWrk(
  options: { url: string; script: string; connections: number; seconds: number },
): Promise<WrkResult> {
  const script = await Deno.makeTempFile({ suffix: ".lua" });
  await Deno.writeTextFile(script, options.script);
  const { stdout, stderr, success } = await new Deno.Command("wrk", {
    args: [
      "-t1",
      `-c${options.connections}`,
      `-d${options.seconds}s`,
      "--latency",
      "-s",
      script,
      options.url,
    ],
    stdin: "null",
  }).output();
  await Deno.remove(script);
  const text = new TextDecoder().decode(stdout);
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  if (/Non-2xx|Socket errors/.test(text)) throw new Error(`${options.url}:\n${text}`);
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]);
  const [, value = "", unit = ""] = /99%\s+([\d.]+)(us|ms|s)/.exec(text) ?? [];
  return { perSecond, p99Ms: Number(value) * (unit === "us" ? 0.001 : unit === "s" ? 1000 : 1) };
}

/** @returns The middle value. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
