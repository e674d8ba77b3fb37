// Numbers in words: with thousands separators, abbreviated, and with nouns.

const suffixes = [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"], [1, ""]] as const;

/** Adds thousands separators to a number or decimal string: `1,234,567.5`. Other strings are returned unchanged. */
export function groupDigits(value: number | string): string {
  const text = String(value);
  return /^-?\d+(\.\d+)?$/.test(text) ? text.replaceAll(/(?<!\.\d*)\B(?=(\d{3})+(?!\d))/g, ",") : text;
}

/**
 * Abbreviates a number on an axis: `15000` becomes `15k`.
 *
 * @param largest The largest number on the axis, which decides the suffix for all.
 */
export function axisNumber(value: number, largest: number): string {
  if (value === 0) return "0";
  const [unit, suffix] = suffixes.find(([from]) => largest >= from) ?? [1, ""];
  return groupDigits(Number((value / unit).toPrecision(6))) + suffix;
}

/** Returns a text such as `1 record` or `1,200 records`. @param one The singular of a noun whose plural ends in s. */
export function countOf(count: number, one: string): string {
  return `${groupDigits(count)} ${one}${count === 1 ? "" : "s"}`;
}

/** Returns the size of a change, such as `12.4%`. */
export function percentText(percent: number): string {
  const size = Math.abs(percent);
  return `${groupDigits(size >= 100 ? Math.round(size) : Number(size.toFixed(1)))}%`;
}
