// Prints the table of results: all rounds, ratios, and whether each aim was reached.
import type { Aim, Figure, Measure } from "./figures.ts";
import { median } from "./load.ts";

/** The results of one round. */
export interface Round extends Readonly<Record<Measure, number>> {
  /** Cores used by the server. */
  readonly serverCores: number;
  /** Cores used by wrk. */
  readonly loadCores: number;
}

const labels: Readonly<Record<Measure, string>> = {
  perSecond: "per second",
  p50Ms: "milliseconds, median,",
  p99Ms: "milliseconds, 99th percentile,",
};
const nameWidth = 40;
const valueWidth = 38;

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
  const middle = (of: Measure) => median(values(of));
  const measured = figure.isSequential
    ? `${middle("p50Ms").toFixed(2)} ms (${list(values("p50Ms"), 2)})`
    : `${whole(middle("perSecond"))}/s (${values("perSecond").map(whole).join(" ")})`;
  const cores = (of: "serverCores" | "loadCores") => median(rounds.map((round) => round[of])).toFixed(1);
  const lines = [
    `${figure.name.padEnd(nameWidth)} ${measured.padEnd(valueWidth)} p99 ${
      middle("p99Ms").toFixed(1).padStart(6)
    } ms  cores ${cores("serverCores")} + load ${cores("loadCores")}`,
  ];
  const note = (text: string) => lines.push(`  ${text}`);
  for (const aim of figure.aims) {
    note(`${labels[aim.of]} ${whole(middle(aim.of))}: ${verdict(aim, middle(aim.of))}`);
  }
  for (const aim of figure.ratios) {
    const others = all.get(aim.to);
    if (others === undefined) continue;
    const ratios = rounds.map((round, n) => round[aim.of] / (others[n]?.[aim.of] ?? Number.NaN));
    note(
      `ratio to “${aim.to}” ${median(ratios).toFixed(2)} (${list(ratios, 2)})${
        aim.atLeast === undefined && aim.atMost === undefined ? "" : `: ${verdict(aim, median(ratios))}`
      }`,
    );
  }
  return lines;
}

/** @returns A line of the table for a value that isn't measured with requests. */
export function valueLine(name: string, measured: string, verdictText: string): string {
  return `${name.padEnd(nameWidth)} ${measured.padEnd(valueWidth)} ${verdictText}`.trimEnd();
}

/** @returns The aim, and whether a value reaches it. */
export function verdict(aim: Pick<Aim, "atLeast" | "atMost">, value: number): string {
  const { atLeast = -Infinity, atMost = Infinity } = aim;
  const bound = aim.atLeast === undefined ? `at most ${whole(atMost)}` : `at least ${whole(atLeast)}`;
  return `aim ${bound}, ${value >= atLeast && value <= atMost ? "reached" : "MISSED"}`;
}

function list(values: readonly number[], digits: number): string {
  return values.map((value) => value.toFixed(digits)).join(" ");
}

function whole(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : 0 });
}
