// Medians and percentiles.

/** @returns A percentile. @param sorted In ascending order. */
export function percentile(sorted: ArrayLike<number>, percent: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * percent / 100))] ?? Number.NaN;
}

/** @returns The median. */
export function median(values: readonly number[]): number {
  return percentile([...values].sort((a, b) => a - b), 50);
}
