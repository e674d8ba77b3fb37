// Prices as people type and read them: for a quantity such as 1 GB or 1,000 requests. The price of one unit is stored.
import { typedDigits } from "../number_text.ts";
import { quantityMicros, scaledToDecimal, splitQuantity } from "../meter/quantity.ts";
import { parseTypedQuantity, scaleOf, singular } from "../meter/typed_quantity.ts";
import { amountPlaces, pricePlaces, priceUnits } from "./price.ts";

const amountForm = /^(\d{1,3}(?:,\d{3}){1,7}|\d{1,24})(?:\.(\d{1,24}))?$/;
const unitsMax = 10n ** BigInt(2 * pricePlaces);

/** Reads a typed quantity that has a price, such as `1,000 requests`, `GB` or nothing for one. Null for one that isn't understood, and for 0. */
export function pricedQuantity(text: string, unit: string | null): number | null {
  const typed = text.trim();
  const quantity = parseTypedQuantity(/^[\d.]/.test(typed) ? typed : `1 ${typed}`, unit);
  return quantity === 0 ? null : quantity;
}

/**
 * Converts the price of a quantity to that of one unit.
 *
 * @param amount A typed decimal, which may have commas.
 * @returns Null for an amount that isn't understood or is too large. If the price of one unit has more than 12 decimal places, the
 *   nearest amounts that have not.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.deepEqual(unitPriceOf("0.09", 1e9), { unitPrice: "0.00000000009" });
 * assert.deepEqual(unitPriceOf("0.015", 3_600), { nearest: ["0.0149999976", "0.0150000012"] });
 * ```
 */
export function unitPriceOf(
  amount: string,
  quantity: number,
): { readonly unitPrice: string } | { readonly nearest: readonly [string, string] } | null {
  const [, whole = "", decimals = ""] = amountForm.exec(amount) ?? [];
  const micros = microsOf(quantity);
  if (whole === "" || micros === 0n) return null;
  const divisor = 10n ** BigInt(decimals.length) * micros;
  const scaled = BigInt(whole.replaceAll(",", "") + decimals) * 10n ** BigInt(amountPlaces);
  const units = scaled / divisor;
  if (units >= unitsMax) return null;
  if (scaled % divisor === 0n) return { unitPrice: scaledToDecimal(units, pricePlaces) };
  const amountOf = (units: bigint) => scaledToDecimal(units * micros, amountPlaces);
  return { nearest: [amountOf(units), amountOf(units + 1n)] };
}

/** Returns the exact price of a quantity. @param unitPrice A stored price. */
export function priceFor(unitPrice: string, quantity: number): string {
  return scaledToDecimal(priceUnits(unitPrice) * microsOf(quantity), amountPlaces);
}

function microsOf(quantity: number): bigint {
  const parts = splitQuantity(quantity);
  return parts === null ? 0n : quantityMicros(parts);
}

const magnitudes = [[1, "1"], [1e3, "1,000"], [1e6, "1M"], [1e9, "1B"], [1e12, "1T"]] as const;
/** Prices of larger quantities would hide how little one is. */
const amountMax = 10_000;

/**
 * Returns the quantity for which prices are shown: the smallest whose prices have the places of the currency, such as `GB` or `1,000 requests`.
 *
 * @param unit In the plural; null without one.
 * @param places The decimal places of the currency.
 * @returns `text`: {@linkcode pricedQuantity} understands it.
 */
export function shownQuantity(
  unitPrices: readonly string[],
  { unit, places }: { readonly unit: string | null; readonly places: number },
): { readonly size: number; readonly text: string } {
  const sizes = (scaleOf(unit) ?? magnitudes).map(([size]) => size);
  const amounts = (size: number) => unitPrices.map((price) => priceFor(price, size));
  const isSmall = (size: number) => size === 1 || amounts(size).every((amount) => Number(amount) < amountMax);
  const size =
    sizes.find((size) => isSmall(size) && amounts(size).every((amount) => placesOf(amount) <= places)) ??
      sizes.find((size) =>
        isSmall(size) && amounts(size).every((amount) => Number(amount) >= 10 ** -places)
      ) ??
      sizes.findLast(isSmall) ?? 1;
  return { size, text: quantityText(size, unit) };
}

function placesOf(amount: string): number {
  return amount.split(".")[1]?.length ?? 0;
}

function quantityText(size: number, unit: string | null): string {
  const scaled = scaleOf(unit)?.find(([one]) => one === size)?.[1];
  const of = (count: string) => (unit === null ? count : `${count} ${unit}`);
  const texts = size === 1
    ? [...(unit === null ? [] : [singular(unit)]), "1"]
    : [...(scaled === undefined ? [] : [scaled]), of(magnitudes.find(([one]) => one === size)?.[1] ?? "")];
  const digits = typedDigits(size);
  return [...texts, of(digits)].find((text) => pricedQuantity(text, unit) === size) ?? digits;
}
