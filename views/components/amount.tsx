// Amounts with their currency, and prices of units; hovering shows all digits of rounded ones.
import { amountText, unitPriceText } from "../text/amount.ts";
import type { Measure } from "../text/quantity.ts";

/** `value`: an exact decimal text; a dash for null. */
export function Amount({ value, currency }: { value: string | null; currency: string }) {
  if (value === null) return <>–</>;
  const { text, exact } = amountText(value, currency);
  return <span class="quantity" title={exact === null ? undefined : `${currency} ${exact}`}>{text}</span>;
}

/** The price of the unit in which a quantity is shown: `€0.09 per GB`. */
export function UnitPrice(
  { price, ...unit }: { price: string | null; quantity: string; measure: Measure; currency: string },
) {
  if (price === null) return <>–</>;
  const { text, exact } = unitPriceText(price, unit);
  return <span title={exact ?? undefined}>{text}</span>;
}
