// Numbers in words: with thousands separators, abbreviated, and with nouns.

const plainDecimal = /^(-?)(\d+)(\.\d+)?$/;
const suffixes = [
  { from: 1e12, text: "T" },
  { from: 1e9, text: "B" },
  { from: 1e6, text: "M" },
  { from: 1e3, text: "k" },
] as const;

/**
 * Adds thousands separators: `1234567.5` becomes `1,234,567.5`.
 *
 * @param value A number or, for values that a number can't hold, a decimal string. Other strings are returned unchanged.
 */
export function groupDigits(value: number | string): string {
  const text = String(value);
  const parts = plainDecimal.exec(text);
  if (parts === null) return text;
  const [, sign = "", whole = "", fraction = ""] = parts;
  return sign + whole.replace(/\B(?=(\d{3})+$)/g, ",") + fraction;
}

/**
 * Abbreviates a number on an axis: `15000` becomes `15k`.
 *
 * @param value Not negative.
 * @param largest The largest number on the axis, which decides the suffix for all.
 */
export function axisNumber(value: number, largest: number): string {
  if (value === 0) return "0";
  const suffix = suffixes.find((one) => largest >= one.from);
  const scaled = suffix === undefined ? value : value / suffix.from;
  return groupDigits(Number(scaled.toPrecision(6))) + (suffix?.text ?? "");
}

/** @returns Such as `1 record` or `1,200 records`. @param one The singular of a noun whose plural ends in s. */
export function countOf(count: number, one: string): string {
  return `${groupDigits(count)} ${one}${count === 1 ? "" : "s"}`;
}

/** @returns The size of a change, such as `12.4%`. */
export function percentText(percent: number): string {
  const size = Math.abs(percent);
  return `${groupDigits(size >= 100 ? Math.round(size) : Number(size.toFixed(1)))}%`;
}
