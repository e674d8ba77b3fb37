// Numbers as people read them: grouped by commas, or short on a chart's axis.

const plainDecimal = /^(-?)(\d+)(\.\d+)?$/;
const suffixes = [
  { from: 1e12, text: "T" },
  { from: 1e9, text: "B" },
  { from: 1e6, text: "M" },
  { from: 1e3, text: "k" },
] as const;

/**
 * Groups the whole part of a number by commas: `1234567.5` becomes `1,234,567.5`.
 *
 * @param value A number, or an exact decimal text (sums can be larger than a number holds).
 * @returns The grouped text; a text that is not a plain decimal comes back as it was.
 */
export function groupDigits(value: number | string): string {
  const text = String(value);
  const parts = plainDecimal.exec(text);
  if (parts === null) return text;
  const [, sign = "", whole = "", fraction = ""] = parts;
  return sign + whole.replace(/\B(?=(\d{3})+$)/g, ",") + fraction;
}

/**
 * Shortens a number for an axis: `15000` becomes `15k`, `0` stays `0`.
 *
 * @param value Not negative.
 * @param largest The largest number on the same axis; its size decides the suffix, so that labels agree.
 */
export function axisNumber(value: number, largest: number): string {
  if (value === 0) return "0";
  const suffix = suffixes.find((one) => largest >= one.from);
  const scaled = suffix === undefined ? value : value / suffix.from;
  return groupDigits(Number(scaled.toPrecision(6))) + (suffix?.text ?? "");
}

/**
 * @param count How many.
 * @param one The singular; the plural takes an s.
 * @returns Such as `1 record` or `1,200 records`.
 */
export function countOf(count: number, one: string): string {
  return `${groupDigits(count)} ${one}${count === 1 ? "" : "s"}`;
}

/** @returns A change as `12.4 %`, without its sign. */
export function percentText(percent: number): string {
  const size = Math.abs(percent);
  return `${groupDigits(size >= 100 ? Math.round(size) : Number(size.toFixed(1)))} %`;
}
