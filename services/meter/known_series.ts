// The series that a thread has recorded to a moment ago. Groups with only these need fewer statements.
import type { RecordGroup } from "../../db/meter/record_group.ts";
import { rememberedSeriesMax, rememberedSeriesMs } from "../../domain/limits.ts";

type Series = RecordGroup["series"];

/** Says that a series exists, and that its key was noted as used. It may be wrong: the database checks it. */
export class KnownSeries {
  /** The time until which each series is known, the oldest first. */
  readonly #until = new Map<string, number>();

  hasAll(series: Series, now: number): boolean {
    return series.every((one) => now < (this.#until.get(nameOf(one)) ?? 0));
  }

  /** Notes series that were just looked for and recorded to. */
  add(series: Series, now: number): void {
    for (const name of series.map(nameOf)) {
      this.#until.delete(name);
      if (this.#until.size >= rememberedSeriesMax) this.#forgetOldest();
      this.#until.set(name, now + rememberedSeriesMs);
    }
  }

  #forgetOldest(): void {
    const [oldest] = this.#until.keys();
    if (oldest !== undefined) this.#until.delete(oldest);
  }

  forget(series: Series): void {
    for (const one of series) this.#until.delete(nameOf(one));
  }
}

function nameOf([target, productSlug, metric]: Series[number]): string {
  return `${target} ${productSlug} ${metric}`;
}
