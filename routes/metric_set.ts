// Metrics for Prometheus, and their sum over threads. Labels never contain names, addresses or ids.
import { unavailableError } from "../domain/errors.ts";
import { metricsTimeoutMs } from "../domain/limits.ts";
import type { Histogram } from "../services/histogram.ts";

type Labels = Readonly<Record<string, string>>;

export interface MetricValue {
  readonly metricName: string;
  readonly labels: Labels;
  readonly value: number;
}

interface CollectedMetric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly aggregator: Aggregator;
  readonly values: readonly MetricValue[];
}

/** The metrics of one thread at one time. They can be cloned. */
export type MetricValues = readonly CollectedMetric[];

export type CollectMetrics = () => Promise<MetricValues>;

type Sample = readonly [labels: Labels, value: number, metricName?: string];

type GaugeValue = number | Sample[] | null;

/** Combines the values of several threads. */
type Aggregator = "sum" | "max";

/** Metrics of one thread, or of the process. They are counted elsewhere. */
export class MetricSet {
  readonly #metrics: (() => Promise<CollectedMetric>)[] = [];

  collect(): Promise<MetricValues> {
    return Promise.all(this.#metrics.map((collect) => collect()));
  }

  counter(name: string, { help, counts }: { help: string; counts: () => Iterable<Sample> }): void {
    this.#add(name, { type: "counter", help, collect: counts });
  }

  /** @param options `value`: one value, samples by label, or null for no sample. `aggregator`: of threads, by default `sum`. */
  gauge(
    name: string,
    { help, value, aggregator }: {
      help: string;
      value: () => GaugeValue | Promise<GaugeValue>;
      aggregator?: Aggregator;
    },
  ): void {
    const collect = async () => {
      const values = await value();
      return typeof values === "number" ? [[{}, values]] as Sample[] : values ?? [];
    };
    this.#add(name, { type: "gauge", help, collect, aggregator });
  }

  histogram(
    name: string,
    { help, histograms }: { help: string; histograms: () => Iterable<readonly [Labels, Histogram]> },
  ): void {
    const collect = () =>
      [...histograms()].flatMap(([labels, histogram]) => samplesOf(histogram, { name, labels }));
    this.#add(name, { type: "histogram", help, collect });
  }

  #add(name: string, { type, help, collect, aggregator = "sum" }: {
    type: CollectedMetric["type"];
    help: string;
    collect: () => Iterable<Sample> | Promise<Iterable<Sample>>;
    aggregator?: Aggregator | undefined;
  }): void {
    this.#metrics.push(async () => {
      const toValue = ([labels, value, metricName = name]: Sample) => ({ labels, value, metricName });
      return { name, help, type, values: Array.from(await collect(), toValue), aggregator };
    });
  }
}

function samplesOf(histogram: Histogram, { name, labels }: { name: string; labels: Labels }): Sample[] {
  const counts = histogram.cumulativeCounts();
  const bounds = [...histogram.bounds.map(String), "+Inf"];
  return [
    ...bounds.map((le, index): Sample => [{ ...labels, le }, counts[index] ?? 0, `${name}_bucket`]),
    [labels, histogram.sum, `${name}_sum`],
    [labels, counts.at(-1) ?? 0, `${name}_count`],
  ];
}

/** Reads all metrics. @throws {AppError} `unavailable` when a collector does not respond in time. */
export async function collectAll(
  collectors: readonly CollectMetrics[],
  { timeoutMs = metricsTimeoutMs }: { timeoutMs?: number } = {},
): Promise<MetricValues[]> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(unavailableError("The metrics are incomplete: a thread did not respond in time.")),
    timeoutMs,
  );
  try {
    return await Promise.race([Promise.all(collectors.map((collect) => collect())), late]);
  } finally {
    clearTimeout(timer);
  }
}

export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8";

/** Combines the threads, in Prometheus text format. */
export function metricsText(all: readonly MetricValues[]): string {
  const texts = [...Map.groupBy(all.flat(), ({ name }) => name)].map(([name, metrics]) => {
    const [{ help, type, aggregator }] = metrics as [CollectedMetric];
    const samples = new Map<string, number>();
    for (const { metricName, labels, value } of metrics.flatMap(({ values }) => values)) {
      const sample = metricName + labelsText(labels);
      const before = samples.get(sample) ?? 0;
      samples.set(sample, aggregator === "sum" ? before + value : Math.max(before, value));
    }
    const lines = [...samples].map(([sample, value]) => `${sample} ${value}\n`);
    return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
  });
  return texts.join("\n");
}

/** Escapes values as JSON does, which is right for all printable text. */
function labelsText(labels: Labels): string {
  const texts = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return texts.length === 0 ? "" : `{${texts.join(",")}}`;
}

export function byLabel(label: string, counts: object): Sample[] {
  return Object.entries(counts).map(([value, count]) => [{ [label]: value }, count]);
}

/** Returns the time since `from`, in seconds; 0 for null. Both are in milliseconds. */
export function ageSeconds(from: number | null, now: number): number {
  return from === null ? 0 : Math.max(0, now - from) / 1000;
}
