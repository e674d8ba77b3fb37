// Amounts of money: exact decimals as people read them.
import { localCurrency } from "../../domain/locale.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { presentation } from "../../domain/presentation.ts";
import { axisUnit, type Measure, oneOf } from "./quantity.ts";

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
  const usual = whole.test(currency) ? 0 : thousandths.test(currency) ? 3 : 2;
  const places = smallestPlaces(units, fraction, usual);
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

/** Adds the currency's sign to a number in the reader's format. */
function withCurrency(number: string, currency: string): string {
  return localCurrency(number, currency, presentation().locale);
}

/** Two digits are left of an amount that the usual decimals would round to nothing. */
function smallestPlaces(units: string, fraction: string, usual: number): number {
  const first = fraction.search(/[1-9]/);
  return BigInt(units) > 0n || first < usual ? usual : first + 2;
}

const priceDecimalsMax = 12;

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
  const priceOf = (price: string, count: number) => {
    const unit = oneOf(count, measure);
    return withCurrency(groupDigits(price), currency) + (unit === null ? "" : ` per ${unit}`);
  };
  const [whole = "0", decimals = ""] = price.split(".");
  const unitPrice = decimals.length === 1 ? `${price}0` : price;
  if (size === 1) return { text: priceOf(unitPrice, 1), exact: null };
  const scaled = BigInt(whole + decimals.padEnd(priceDecimalsMax, "0")) * BigInt(size);
  const digits = String(scaled).padStart(priceDecimalsMax + 1, "0");
  const point = digits.length - priceDecimalsMax;
  const fraction = digits.slice(point).replace(/0+$/, "").padEnd(2, "0");
  return { text: priceOf(`${digits.slice(0, point)}.${fraction}`, size), exact: priceOf(price, 1) };
}
