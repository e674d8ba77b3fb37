// Prints the results: all rounds, ratios, and whether each aim was reached.
import type { Aim, Figure, Measure } from "./figures.ts";
import type { Round } from "./measure.ts";
import { median } from "./statistics.ts";

const labels: Readonly<Record<Measure, string>> = {
  perSecond: "per second",
  p50Ms: "median response time",
  p99Ms: "99th percentile",
  totalCpu: "CPU per request",
  httpCpu: "CPU per request of the HTTP threads",
};
const nameWidth = 42;
const valueWidth = 38;
/** Cores of a load generator with one thread from which it may be the bottleneck. */
const loadCoresFull = 0.9;

/**
 * Formats a figure.
 *
 * @param rounds Its rounds.
 * @param all The rounds of all figures, by name.
 * @returns Its lines of the table.
 */
export function figureLines(
  figure: Figure,
  rounds: readonly Round[],
  all: ReadonlyMap<string, readonly Round[]>,
): string[] {
  const values = (of: Measure) => rounds.map((round) => round[of]);
  const middle = (pick: (round: Round) => number | undefined) =>
    median(rounds.map((round) => pick(round) ?? Number.NaN));
  const measured = figure.isSequential
    ? `${middle((round) => round.p50Ms).toFixed(2)} ms (${list(values("p50Ms"), 2)})`
    : `${whole(middle((round) => round.perSecond))}/s (${values("perSecond").map(whole).join(" ")})`;
  const loadCores = middle((round) => round.loadCores);
  const lines = [
    `${valueLine(figure.name, measured.padEnd(valueWidth))} p99 ${
      middle((round) => round.p99Ms).toFixed(1)
    } ms  cores ${middle((round) => round.serverCores).toFixed(2)} + load ${loadCores.toFixed(2)}${
      loadCores < loadCoresFull ? "" : " (the load generator is the limit)"
    }`,
  ];
  const note = (text: string) => lines.push(`  ${text}`);
  if (figure.meanwhile === undefined) {
    const cpu = (of: "http" | "workers" | "runtime") => middle((round) => round.cpu[of]).toFixed(1);
    const threads = middle((round) => round.httpThreads);
    const http = `${threads} HTTP thread${threads === 1 ? "" : "s"} ${cpu("http")}`;
    note(`CPU per request: ${http}, workers ${cpu("workers")}, rest ${cpu("runtime")} µs`);
  } else {
    const perSecond = middle((round) => round.meanwhile?.perSecond);
    note(
      `meanwhile ${whole(perSecond)} records/s, p99 ${
        middle((round) => round.meanwhile?.p99Ms).toFixed(1)
      } ms`,
    );
  }
  for (const aim of figure.aims) {
    const value = middle((round) => round[aim.of]);
    note(`${labels[aim.of]} ${whole(value)}${verdict(aim, value)}`);
  }
  for (const aim of figure.ratios) {
    const others = all.get(aim.to);
    if (others === undefined) continue;
    const ratios = rounds.map((round, n) => round[aim.of] / (others[n]?.[aim.of] ?? Number.NaN));
    const value = median(ratios);
    note(
      `${labels[aim.of]} over “${aim.to}”: ${value.toFixed(2)} (${list(ratios, 2)})${verdict(aim, value)}`,
    );
  }
  return lines;
}

/** @returns A line of the table. */
export function valueLine(name: string, measured: string): string {
  return `${name.padEnd(nameWidth)} ${measured}`;
}

/** @returns The aim and whether a value reaches it, or nothing if there is no aim. */
export function verdict({ atLeast, atMost }: Pick<Aim, "atLeast" | "atMost">, value: number): string {
  if (atLeast !== undefined) {
    return `; aim at least ${whole(atLeast)}, ${value >= atLeast ? "reached" : "MISSED"}`;
  }
  if (atMost !== undefined) {
    return `; aim at most ${whole(atMost)}, ${value <= atMost ? "reached" : "MISSED"}`;
  }
  return "";
}

function list(values: readonly number[], digits: number): string {
  return values.map((value) => value.toFixed(digits)).join(" ");
}

function whole(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : 0 });
}
