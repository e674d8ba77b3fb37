// Values of the program's metrics over time: a table by minute, and whether they stay flat.
import { median, percentile } from "./statistics.ts";

/** The state of the program at one time. */
export interface Sample {
  /** Since the start of the traffic. */
  readonly seconds: number;
  /** By name, with labels. */
  readonly metrics: ReadonlyMap<string, number>;
}

/** A request. `ms`: since it was due. */
export interface Timing {
  readonly ms: number;
  readonly isError: boolean;
}

/** `slack`: growth that doesn't matter, besides {@linkcode growthMax}; without it, the value may grow. */
interface Column {
  readonly name: string;
  readonly metric: string;
  readonly unit: number;
  readonly slack?: number;
}

/** The name of a metric that the program doesn't have: the bytes of its output. */
export const outputMetric = "output";

const growthMax = 0.15;
const warmUpSeconds = 120;
const referenceSeconds = 60;
/** A shorter run ends before it can tell. */
export const judgedSecondsMin = 300;

function columnsOf(threads: number): Column[] {
  const heaps = Array.from({ length: threads }, (_, n) => n + 1).map((thread): Column => (
    { name: `heap ${thread}`, metric: `gatehouse_http_thread_heap_bytes{thread="${thread}"}`, unit: 1e6 }
  ));
  return [
    { name: "memory", metric: "process_resident_memory_bytes", unit: 1e6, slack: 0 },
    ...heaps,
    { name: "data", metric: 'gatehouse_database_bytes{file="data"}', unit: 1e6 },
    { name: "log", metric: 'gatehouse_database_bytes{file="log"}', unit: 1e6, slack: 1e6 },
    { name: "descriptors", metric: "process_open_fds", unit: 1, slack: 100 },
    { name: "output", metric: outputMetric, unit: 1e3 },
  ];
}

/** Reads a sample from the text of `/metrics`. */
export function parseSample(text: string, { seconds, output }: { seconds: number; output: number }): Sample {
  const lines = text.matchAll(/^([a-z][^ ]*) (\S+)$/gm);
  const metrics = new Map(Array.from(lines, ([, name = "", value]) => [name, Number(value)]));
  return { seconds, metrics: metrics.set(outputMetric, output) };
}

/**
 * Returns a sentence for each value that is never as low in the last third as in the third minute. The lowest value counts,
 * because V8 collects the garbage of a thread only after minutes.
 */
export function growth(samples: readonly Sample[], { seconds }: { seconds: number }): string[] {
  if (seconds < judgedSecondsMin) return [];
  const within = (from: number, to: number) => samples.filter((s) => s.seconds >= from && s.seconds < to);
  const reference = within(warmUpSeconds, warmUpSeconds + referenceSeconds);
  const last = within(seconds * 2 / 3, Infinity);
  return columnsOf(0).flatMap(({ name, metric, unit, slack }) => {
    const before = middle(reference, metric);
    const after = Math.min(...last.map(({ metrics }) => metrics.get(metric) ?? Number.NaN));
    if (slack === undefined || after <= before * (1 + growthMax) + slack) return [];
    const [from, to] = [before, after].map((value) =>
      `${(value / unit).toFixed(1)}${unit === 1 ? "" : " MB"}`
    );
    return [`${name} grew from ${from} in the third minute to at least ${to} in the last third`];
  });
}

function middle(samples: readonly Sample[], metric: string): number {
  return median(samples.map(({ metrics }) => metrics.get(metric) ?? Number.NaN));
}

/** Returns the head of the table: times in milliseconds, sizes in MB, the output in KB. */
export function tableHead(threads: number): string[] {
  const names = ["minute", "requests", "errors", "p50", "p99", ...columnsOf(threads).map(({ name }) => name)];
  return [row(names), row(names.map(() => "-------:"))];
}

/** Returns the line of a minute. */
export function tableLine(
  minute: number,
  { timings, samples, threads }: {
    timings: readonly Timing[];
    samples: readonly Sample[];
    threads: number;
  },
): string {
  const sorted = timings.map(({ ms }) => ms).sort((a, b) => a - b);
  const errors = timings.filter(({ isError }) => isError).length;
  const times = [percentile(sorted, 50).toFixed(1), percentile(sorted, 99).toFixed(0)];
  const columns = columnsOf(threads);
  const values = columns.map(({ metric, unit }) =>
    (middle(samples, metric) / unit).toFixed(unit === 1 ? 0 : 1)
  );
  return row([minute, timings.length, errors, ...times, ...values]);
}

function row(cells: readonly (string | number)[]): string {
  return `| ${cells.map((cell) => String(cell).padStart(8)).join(" | ")} |`;
}
