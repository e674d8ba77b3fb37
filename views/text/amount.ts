// Amounts of money: exact decimals as people read them.
import { localCurrency } from "../../domain/locale.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { presentation } from "../../domain/presentation.ts";
import { isPriceList, type PriceList } from "../../domain/billing/price.ts";
import { priceFor, shownQuantity } from "../../domain/billing/typed_price.ts";
import { axisUnit, type Measure, type NamedMeasure, oneOf, unitOf } from "./quantity.ts";

interface AmountText {
  /** With the currency's sign and decimals, such as `€1,234.50`; with more decimals if it would be 0 otherwise. */
  readonly text: string;
  /** If `text` is rounded, all of its digits; otherwise null. */
  readonly exact: string | null;
}

/** Currencies without a smaller unit. */
const whole = /^(BIF|CLP|DJF|GNF|ISK|JPY|KMF|KRW|PYG|RWF|UGX|VND|VUV|XAF|XOF|XPF)$/;

/** Currencies whose smaller unit is a thousandth. */
const thousandths = /^(BHD|IQD|JOD|KWD|LYD|OMR|TND)$/;

/**
 * @param amount An exact decimal text, which may be negative.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.deepEqual(amountText("1234.5", "EUR"), { text: "€1,234.50", exact: null });
 * assert.deepEqual(amountText("-0.125", "EUR"), { text: "−€0.13", exact: "−0.125" });
 * assert.deepEqual(amountText("0.0012345", "EUR"), { text: "€0.0012", exact: "0.0012345" });
 * ```
 */
export function amountText(amount: string, currency: string): AmountText {
  const [, minus = "", units = "0", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) ?? [];
  const sign = minus && "−";
  const places = smallestPlaces(units, fraction, usualPlaces(currency));
  const all = sign + groupDigits(fraction === "" ? units : `${units}.${fraction}`);
  const cut = BigInt(units + fraction.slice(0, places).padEnd(places, "0"));
  // Half is rounded away from zero.
  const rounded = cut + (Number(fraction[places] ?? 0) >= 5 ? 1n : 0n);
  const digits = String(rounded).padStart(places + 1, "0");
  const point = digits.length - places;
  const decimal = places === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
  const text = withCurrency(sign + groupDigits(decimal), currency);
  return { text, exact: fraction.length > places ? all : null };
}

/** Returns the decimal places of a currency. */
function usualPlaces(currency: string | null): number {
  return currency === null ? 2 : whole.test(currency) ? 0 : thousandths.test(currency) ? 3 : 2;
}

/** Adds the currency's sign to a number in the reader's format. */
function withCurrency(number: string, currency: string | null): string {
  return currency === null ? number : localCurrency(number, currency, presentation().locale);
}

/** Two digits are left of an amount that the usual decimals would round to nothing. */
function smallestPlaces(units: string, fraction: string, usual: number): number {
  const first = fraction.search(/[1-9]/);
  return BigInt(units) > 0n || first < usual ? usual : first + 2;
}

/**
 * Returns the price of the unit in which a quantity is shown, such as `€0.09 per GB` for gigabytes of a metric whose price is per byte,
 * and `€0.0004 per request`.
 *
 * @param price An exact decimal text.
 * @returns `exact`: the price itself if it is another one; otherwise null.
 */
export function unitPriceText(
  price: string,
  { quantity, measure, currency }: { quantity: string; measure: Measure; currency: string },
): { text: string; exact: string | null } {
  const size = axisUnit(Math.abs(Number(quantity)), measure);
  const priceOf = (count: number) => {
    const unit = oneOf(count, measure);
    const amount = withCurrency(
      groupDigits(withPlaces(priceFor(price, count), usualPlaces(currency))),
      currency,
    );
    return amount + (unit === null ? "" : ` per ${unit}`);
  };
  return { text: priceOf(size), exact: size === 1 ? null : priceOf(1) };
}

/** Adds zeros to an exact decimal text until it has that many places. */
function withPlaces(amount: string, places: number): string {
  const [whole = "", decimals = ""] = amount.split(".");
  return places === 0 || decimals.length >= places ? amount : `${whole}.${decimals.padEnd(places, "0")}`;
}

/** Returns a typed amount without the sign or the code of the currency. */
export function withoutCurrency(amount: string, currency: string | null): string {
  return currency === null
    ? amount.trim()
    : amount.replace(withCurrency("", currency).trim(), "").replace(currency, "").trim();
}

interface PriceScope {
  readonly measure: NamedMeasure;
  readonly currency: string | null;
}

/**
 * Returns the prices of a metric for the quantity that people use, as fields have them.
 *
 * @param unitPrices Exact decimal texts.
 */
export function typedPrices(unitPrices: readonly string[], { measure, currency }: PriceScope) {
  const places = usualPlaces(currency);
  const { size, text } = shownQuantity(unitPrices, { unit: unitOf(measure), places });
  return { per: text, amounts: unitPrices.map((price) => withPlaces(priceFor(price, size), places)) };
}

/** Returns the price of a metric, or the lowest and highest by value: `€0.09 per GB`, `€1.00–€12.00 per 1M tokens`. */
export function priceText(price: string | PriceList, scope: PriceScope): string {
  const unitPrices = isPriceList(price) ? price.map(({ unitPrice }) => unitPrice) : [price];
  const { per, amounts } = typedPrices(unitPrices, scope);
  const sorted = amounts.toSorted((a, b) => Number(a) - Number(b));
  const range = [...new Set([sorted.at(0) ?? "", sorted.at(-1) ?? ""])]
    .map((amount) => withCurrency(groupDigits(amount), scope.currency)).join("–");
  return per === "1" ? range : `${range} per ${per}`;
}
