// Quantities with their units, as people write them: bytes as `2.41 TB`, seconds as `318.4 h`, everything else as it is.
import { axisNumber, groupDigits } from "../../domain/number_text.ts";
import type { CatalogueMetric } from "../../domain/meter/catalogue.ts";
import { scaleOf, singular } from "../../domain/meter/typed_quantity.ts";
import type { WindowUnit } from "../../domain/meter/usage_window.ts";

export type Measure = Pick<CatalogueMetric, "name" | "unit" | "aggregation">;
export type NamedMeasure = Pick<Measure, "name" | "unit">;

interface QuantityText {
  /** Such as `2.41` or `9,672,878`. */
  readonly number: string;
  /** Such as `TB`; null without a unit. */
  readonly unit: string | null;
  /** If `number` is rounded, all of its digits, such as `2,410,233,112,900 bytes`; otherwise null. */
  readonly exact: string | null;
}

/**
 * @param value Not negative: a number or an exact decimal text.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.deepEqual(quantityText("2410233112900", { name: "Data transfer", unit: "bytes" }), {
 *   number: "2.41",
 *   unit: "TB",
 *   exact: "2,410,233,112,900 bytes",
 * });
 * ```
 */
export function quantityText(value: number | string, measure: Measure): QuantityText {
  const scale = scaleOf(measure.unit);
  const exact = groupDigits(value);
  const ofOne = (unit: string | null) => unit && thingsOf(exact, unit);
  if (scale === undefined) return { number: exact, unit: ofOne(measure.unit), exact: null };
  const [, base] = scale[0] ?? [1, ""];
  // 999.96 KB would be rounded to 1,000 KB.
  const [size, unit] = scale.findLast(([size]) => Number(value) >= size * 0.9999) ?? [1, base];
  if (size === 1) return { number: exact, unit: ofOne(unit), exact: null };
  const count = Number(value) / size;
  return { number: groupDigits(Number(count.toFixed(count < 100 ? 2 : 1))), unit, exact: `${exact} ${base}` };
}

/** Returns what one of a unit is called: `GB` for 1e9 bytes, `request`. Null if a metric has no unit and isn't named after things. */
export function oneOf(size: number, measure: Measure): string | null {
  const { unit } = quantityText(size, measure);
  const things = unitOf(measure);
  return unit ?? (things && singular(things));
}

/** Returns the unit of a metric, or the things that it is named after, such as `requests`; null if it is neither. */
export function unitOf(measure: NamedMeasure): string | null {
  const noun = measureNoun(measure);
  return measure.unit ?? (singular(noun) === noun ? null : noun);
}

/** Returns the things that a number counts: `request` for `1`, otherwise `requests`. */
export function thingsOf(number: string, things: string): string {
  return number === "1" ? singular(things) : things;
}

/** Returns a quantity as one text, such as `2.41 TB`. */
export function quantityWords(value: number | string, measure: Measure): string {
  const { number, unit } = quantityText(value, measure);
  return unit === null ? number : `${number} ${unit}`;
}

/** Returns the name inside a sentence and next to numbers without a unit, such as `requests`. */
export function measureNoun({ name }: Pick<Measure, "name">): string {
  return /^\p{Lu}\p{Ll}/u.test(name) ? name.charAt(0).toLowerCase() + name.slice(1) : name;
}

/** Returns the heading of a chart, such as `Requests per day`. */
export function perWindow({ name }: Measure, by: WindowUnit): string {
  return `${name} per ${unitWords(by)}`;
}

/** The names of windows in choices and headings. */
export const unitNames: Readonly<Record<WindowUnit, string>> = {
  "hour": "Hour",
  "4h": "4 hours",
  "6h": "6 hours",
  "day": "Day",
  "week": "Week",
  "month": "Month",
};

/** Returns the name of windows inside a sentence. */
export function unitWords(unit: WindowUnit): string {
  return unitNames[unit].toLowerCase();
}

/** Returns the size of the unit for an axis whose largest number is `highest`. Round numbers of the axis are multiples of it. */
export function axisUnit(highest: number, measure: Measure): number {
  return scaleOf(measure.unit)?.findLast(([size]) => highest >= size)?.[0] ?? 1;
}

/** Returns the text of a number on an axis, such as `800k` or `20 GB`. */
export function axisText(value: number, measure: Measure): string {
  if (scaleOf(measure.unit) === undefined) return axisNumber(value, value);
  return value === 0 ? "0" : quantityWords(value, measure).replace(/bytes?$/, "B");
}
