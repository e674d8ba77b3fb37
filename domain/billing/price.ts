// Prices and amounts of money: exact decimals, which are never rounded.
import { scaledToDecimal } from "../meter/quantity.ts";

/** Decimal places of the price of one unit. */
export const pricePlaces = 12;
/** Decimal places of an amount: those of a price, and 6 of the quantity. */
export const amountPlaces = pricePlaces + 6;
const priceForm = /^\d{1,12}(\.\d{1,12})?$/;

/** Maximum number of prices of a metric. */
export const valuePricesMax = 200;

/** The price of some values of a dimension's properties; without `properties`, that of all values without another. */
export interface ValuePrice {
  readonly properties?: Readonly<Record<string, string>> | undefined;
  readonly unitPrice: string;
}

/** Prices by the values of one dimension. Only the last is for all other values. */
export type PriceList = readonly ValuePrice[];

/** Returns the names of the properties of a list's dimension, in its order. */
export function pricedNames(list: PriceList): string[] {
  return Object.keys(list[0]?.properties ?? {}).sort();
}

/** True for prices by value. */
export function isPriceList(price: string | PriceList | null): price is PriceList {
  return typeof price === "object" && price !== null;
}

/** A list of prices, by values in the order of its dimension's names. */
export class ValuePrices {
  /** JSON: the names of the dimension's properties. */
  readonly names: string;
  readonly #prices: ReadonlyMap<string, string>;

  constructor(list: PriceList) {
    const names = pricedNames(list);
    this.names = JSON.stringify(names);
    this.#prices = new Map(list.map(({ properties, unitPrice }) => [
      properties === undefined ? "" : JSON.stringify(names.map((name) => properties[name])),
      unitPrice,
    ]));
  }

  /** @param values Undefined for the price of all other values. */
  priceOf(values?: readonly string[]): string {
    return this.#prices.get(JSON.stringify(values)) ?? this.#prices.get("") ?? "0";
  }
}

/** Returns a price without needless zeros: `0.5` for `00.50`. Null for negative numbers and for more than 12 digits before or after the point. */
export function parsePrice(text: string): string | null {
  return priceForm.test(text) ? scaledToDecimal(priceUnits(text), pricePlaces) : null;
}

/** Returns a price in 10^-12. */
export function priceUnits(price: string): bigint {
  const [whole = "", decimals = ""] = price.split(".");
  return BigInt(whole + decimals.padEnd(pricePlaces, "0"));
}

/**
 * Adds the amount of a quantity to a sum in 10^-18. Without a price, the sum stays as it is.
 *
 * @param line `micros`: may be negative. `valueAmount`: the amount in 10^-18, if values have prices of their own.
 */
export function addAmount(
  sum: bigint | null,
  { micros, unitPrice, valueAmount = null }: {
    micros: bigint;
    unitPrice: string | null;
    valueAmount?: string | null;
  },
): bigint | null {
  if (valueAmount !== null) return (sum ?? 0n) + BigInt(valueAmount);
  return unitPrice === null ? sum : (sum ?? 0n) + micros * priceUnits(unitPrice);
}

/** Adds up exact decimal texts of up to 18 places. Null if all are. */
export function sumAmounts(amounts: readonly (string | null)[]): string | null {
  return amountToDecimal(amounts.reduce<bigint | null>((sum, amount) => {
    const [, sign, whole = "", decimals = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount ?? "") ?? [];
    return sign === undefined ? sum : (sum ?? 0n) + BigInt(sign + whole + decimals.padEnd(amountPlaces, "0"));
  }, null));
}

/** Returns a sum of {@linkcode addAmount} as an exact decimal text. */
export function amountToDecimal(sum: bigint | null): string | null {
  return sum === null ? null : scaledToDecimal(sum, amountPlaces);
}
