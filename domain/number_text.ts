// Numbers in words: with thousands separators, abbreviated, and with nouns, in the reader's number format.
import { defaultLocale, localDecimal, localPercent } from "./locale.ts";
import { presentation } from "./presentation.ts";

const suffixes = [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"], [1, ""]] as const;

/** Adds thousands separators to a number or decimal string: `1,234,567.5`. Other strings are returned unchanged. */
export function groupDigits(value: number | string): string {
  const text = String(value);
  const { locale } = presentation();
  return locale === defaultLocale || !isDecimal(text) ? typedDigits(text) : localDecimal(text, locale);
}

/** Adds commas in every locale: for fields, whose values forms send back. */
export function typedDigits(value: number | string): string {
  const text = String(value);
  return isDecimal(text) ? text.replaceAll(/(?<!\.\d*)\B(?=(\d{3})+(?!\d))/g, ",") : text;
}

function isDecimal(text: string): boolean {
  return /^-?\d+(\.\d+)?$/.test(text);
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

/** From this percentage on, a multiple says more. */
const percentMax = 1_000;

/**
 * Returns the size of a change or a share: `12.4%`, `135%`, `<0.1%`, and from 1,000% on a multiple such as `21,135×`.
 *
 * @param options `always`: write a decimal place below 100% even if it is 0, as in columns.
 */
export function percentText(percent: number, { always = false }: { always?: boolean } = {}): string {
  const size = Math.abs(percent);
  if (Math.round(size) >= percentMax) return `${groupDigits(Math.round(size / 100))}×`;
  if (size > 0 && size < 0.1) return `<${withPercentSign("0.1")}`;
  const decimal = size.toFixed(1);
  if (Number(decimal) >= 100) return withPercentSign(String(Math.round(size)));
  return withPercentSign(always ? decimal : String(Number(decimal)));
}

/** Returns the part of a limit that is used, in whole percent: 100% only when everything is used. */
export function usedPercentText(percent: number): string {
  if (percent >= percentMax) return percentText(percent);
  return percent > 0 && percent < 1
    ? `<${withPercentSign("1")}`
    : withPercentSign(String(Math.floor(percent)));
}

function withPercentSign(number: string): string {
  const { locale } = presentation();
  return locale === defaultLocale ? `${number}%` : localPercent(groupDigits(number), locale);
}
