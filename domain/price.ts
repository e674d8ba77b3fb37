// Prices and amounts of money: exact decimals, which are never rounded.
import { scaledToDecimal } from "./meter/quantity.ts";

const pricePlaces = 12;
/** Quantities are millionths. */
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

/** Returns the exact amount in 10^-18, to be added up. @param micros The quantity in millionths, which may be negative. */
export function amountUnits(micros: bigint, price: string): bigint {
  return micros * priceUnits(price);
}

/** Returns the sum of amounts as a decimal text. */
export function amountToDecimal(units: bigint): string {
  return scaledToDecimal(units, amountPlaces);
}
