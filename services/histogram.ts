// Histograms for /metrics. The metrics library's own counting costs as much as routing a request.

export class Histogram {
  /** Upper bounds, ascending; a value equal to a bound counts below it. */
  readonly bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#counts = new Array(bounds.length + 1).fill(0);
  }

  get sum(): number {
    return this.#sum;
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > (this.bounds[bucket] ?? 0)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }

  /** Counts the values up to each bound, and last all values. */
  cumulativeCounts(): number[] {
    let total = 0;
    return this.#counts.map((count) => total += count);
  }
}
