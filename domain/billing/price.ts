// Prices and amounts of money: exact decimals, which are never rounded.
import { scaledToDecimal } from "../meter/quantity.ts";

const pricePlaces = 12;
/** Quantities have 6 decimal places. */
const amountPlaces = pricePlaces + 6;
const priceForm = /^\d{1,12}(\.\d{1,12})?$/;

/** Returns a price without needless zeros: `0.5` for `00.50`. Null for negative numbers and for more than 12 digits before or after the point. */
export function parsePrice(text: string): string | null {
  return priceForm.test(text) ? scaledToDecimal(priceUnits(text), pricePlaces) : null;
}

function priceUnits(price: string): bigint {
  const [whole = "", decimals = ""] = price.split(".");
  return BigInt(whole + decimals.padEnd(pricePlaces, "0"));
}

/** Adds the amount of a quantity to a sum in 10^-18. Without a price, the sum stays as it is. @param line `micros`: may be negative. */
export function addAmount(
  sum: bigint | null,
  { micros, unitPrice }: { micros: bigint; unitPrice: string | null },
): bigint | null {
  return unitPrice === null ? sum : (sum ?? 0n) + micros * priceUnits(unitPrice);
}

/** Returns a sum of {@linkcode addAmount} as an exact decimal text. */
export function amountToDecimal(sum: bigint | null): string | null {
  return sum === null ? null : scaledToDecimal(sum, amountPlaces);
}
