// Units of quantities, and quantities as people type them: `5 TB`, `15M`, `2 h`, `1.5k`, `500,000`.
import { typedDigits } from "../number_text.ts";
import { microsToNumber, quantityMicros, scaledToDecimal, splitQuantity } from "./quantity.ts";

type Scale = readonly (readonly [size: number, unit: string])[];

const bytes: Scale = [[1, "bytes"], [1e3, "KB"], [1e6, "MB"], [1e9, "GB"], [1e12, "TB"], [1e15, "PB"]];
const seconds: Scale = [[1, "s"], [60, "min"], [3_600, "h"]];
const milliseconds: Scale = [[1, "ms"], [1e3, "s"], [6e4, "min"], [3.6e6, "h"]];
/** Units that have larger ones, as operators write them. */
const scales: ReadonlyMap<string, Scale> = new Map([
  ...["byte", "bytes", "B"].map((name) => [name, bytes] as const),
  ...["second", "seconds", "sec", "s"].map((name) => [name, seconds] as const),
  ...["millisecond", "milliseconds", "msec", "ms"].map((name) => [name, milliseconds] as const),
]);

/** Returns the larger units in which quantities of a unit are shown, from the smallest on; undefined without any. */
export function scaleOf(unit: string | null): Scale | undefined {
  return unit === null ? undefined : scales.get(unit) ?? scales.get(unit.toLowerCase());
}

/** Returns the singular of a unit: `request`, `person`. Abbreviations such as `fps` and words such as `status` stay as they are. */
export function singular(unit: string): string {
  return unit.replace(/\bpeople$/i, "person")
    .replace(/(?<=\p{L}{2})ies$/u, "y")
    .replace(/(?<=\p{L}(?:ch|sh|ss|x))es$/u, "")
    .replace(/(?<=\p{L}{3})(?<![sui]|bp)s$/u, "");
}

/** The sizes of units that can be converted into each other, by their names in lower case. */
const sizes = (all: Readonly<Record<string, number>>): ReadonlyMap<string, bigint> =>
  new Map(
    Object.entries(all).flatMap(([names, size]) => names.split(" ").map((name) => [name, BigInt(size)])),
  );
const magnitudes = sizes({ "": 1, k: 1e3, m: 1e6, "b bn": 1e9, t: 1e12 });
const families = [
  sizes({ "b byte bytes": 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, pb: 1e15 }),
  sizes({
    "ms msec millisecond milliseconds": 1,
    "s sec second seconds": 1e3,
    "min minute minutes": 6e4,
    "h hour hours": 3.6e6,
    "d day days": 8.64e7,
  }),
];
const [byteSizes] = families;

function familyOf(unit: string | null): ReadonlyMap<string, bigint> | undefined {
  // Gb and Mb are bits.
  return unit === null || /^[KMGTP]b$/.test(unit)
    ? undefined
    : families.find((family) => family.has(unit.toLowerCase()));
}

const typedForm = /^(\d{1,3}(?:,\d{3})+|\d*)(?:\.(\d*))?\s*([^\d\s.,].*)?$/su;
const charactersMax = 64;

/**
 * Reads a typed quantity exactly. Units of bytes and of time are converted to the metric's; other quantities may have `k`, `M`, `B` or `T`.
 *
 * @param unit The unit of the metric; null without one.
 * @returns Null for a quantity that isn't understood, is too large, or has more than 6 decimal places in the metric's unit.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.equal(parseTypedQuantity("5 TB", "bytes"), 5_000_000_000_000);
 * assert.equal(parseTypedQuantity("15M", "requests"), 15_000_000);
 * assert.equal(parseTypedQuantity("2 h", "s"), 7_200);
 * assert.equal(parseTypedQuantity("5 TB", "requests"), null);
 * ```
 */
export function parseTypedQuantity(text: string, unit: string | null): number | null {
  if (text.length > charactersMax) return null;
  const [typed, whole = "", decimals = "", suffix = ""] = typedForm.exec(text.trim()) ?? [];
  const size = sizeOf(suffix.trim(), unit);
  if (typed === undefined || whole + decimals === "" || size === undefined) return null;
  const divisor = 10n ** BigInt(decimals.length) * size.of;
  const scaled = BigInt(whole.replaceAll(",", "") + decimals) * size.typed * 1_000_000n;
  if (scaled % divisor !== 0n) return null;
  const number = microsToNumber(scaled / divisor);
  const parts = splitQuantity(number);
  return parts !== null && quantityMicros(parts) === scaled / divisor ? number : null;
}

function sizeOf(suffix: string, unit: string | null): { typed: bigint; of: bigint } | undefined {
  const family = familyOf(unit);
  const own = [unit ?? "", singular(unit ?? "")].find((name) => name !== "" && endsWith(suffix, name));
  const rest = own === undefined ? suffix : suffix.slice(0, -own.length).trim();
  const of = family?.get(unit?.toLowerCase() ?? "") ?? 1n;
  if (rest === "") return { typed: of, of };
  const typed = family === undefined ? magnitudes.get(rest.toLowerCase()) : family.get(suffix.toLowerCase());
  return typed === undefined ? undefined : { typed, of };
}

/** Regardless of case, except for abbreviations such as `m`, which would be a magnitude otherwise. */
function endsWith(text: string, name: string): boolean {
  return text.endsWith(name) || (name.length > 2 && text.toLowerCase().endsWith(name.toLowerCase()));
}

/** Says what {@linkcode parseTypedQuantity} understands, after the name of a field. */
export function quantityFault(unit: string | null): string {
  const family = familyOf(unit);
  const most = "with at most 6 decimal places";
  if (family === undefined) return `must be a quantity such as 500,000, 1.5k or 15M, ${most}.`;
  const own = `${most} in ${unit}`;
  return family === byteSizes
    ? `must be a quantity such as 500,000, 1.5 GB or 5 TB, ${own}. Units are KB, MB, GB, TB and PB.`
    : `must be a quantity such as 500,000, 45 min or 2 h, ${own}. Units are ms, s, min, h and days.`;
}

/** Returns a quantity as a field has it: `5 TB` if two decimal places are enough in that unit, otherwise all digits. */
export function typedQuantity(value: number, unit: string | null): string {
  const [size, name] = scaleOf(unit)?.findLast(([size]) => value >= size) ?? [1, ""];
  const parts = splitQuantity(value);
  const [hundredths, of] = [parts === null ? 1n : quantityMicros(parts) * 100n, BigInt(size) * 1_000_000n];
  return size === 1 || hundredths % of !== 0n
    ? typedDigits(value)
    : `${typedDigits(scaledToDecimal(hundredths / of, 2))} ${name}`;
}
