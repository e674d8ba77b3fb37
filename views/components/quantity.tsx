// A quantity with its unit; hovering shows all digits of a rounded one.
import { type Measure, quantityText } from "../text/quantity.ts";

/** `value`: a number or an exact decimal text. */
export function Quantity({ value, measure }: { value: number | string; measure: Measure }) {
  const { number, unit, exact } = quantityText(value, measure);
  // Long tables have many of them.
  if (unit === null) return <>{number}</>;
  return (
    <span class="quantity" title={exact ?? undefined}>
      {number}
      <small>{` ${unit}`}</small>
    </span>
  );
}
