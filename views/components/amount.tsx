// Amounts with their currency, and prices of units; hovering shows all digits of rounded ones.
import { amountText, unitPriceText } from "../text/amount.ts";
import type { Measure } from "../text/quantity.ts";

/** `value`: an exact decimal text; a dash for null. */
export function Amount({ value, currency }: { value: string | null; currency: string }) {
  if (value === null) return <>–</>;
  const { number, exact } = amountText(value, currency);
  return (
    <span class="quantity" title={exact === null ? undefined : `${currency} ${exact}`}>
      <small>{`${currency} `}</small>
      {number}
    </span>
  );
}

/** The price of the unit in which a quantity is shown: `0.09 per GB`. */
export function UnitPrice(
  { price, quantity, measure }: { price: string | null; quantity: string; measure: Measure },
) {
  if (price === null) return <>–</>;
  const { text, exact } = unitPriceText(price, { quantity, measure });
  return <span title={exact ?? undefined}>{text}</span>;
}
