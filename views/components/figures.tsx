// A row of large numbers.
import type { Child } from "hono/jsx";
import { groupDigits } from "../../domain/number_text.ts";

/** A number with its label. */
export interface Figure {
  readonly label: string;
  /** A number or a decimal string; none if there is nothing to show. */
  readonly number: number | string | undefined;
  /** A few words below it. */
  readonly note?: Child;
}

/** Longer numbers are smaller. */
const longCharacters = 11;

/** The numbers in a card. `isEven`: the first one is as large as the others. */
export function Figures({ figures, isEven = false }: { figures: readonly Figure[]; isEven?: boolean }) {
  return (
    <dl class={isEven ? "card figures even" : "card figures"}>
      {figures.map(({ label, number, note }) => {
        const value = number === undefined ? "–" : groupDigits(number);
        return (
          <div>
            <dt>{label}</dt>
            <dd class={value.length > longCharacters ? "value long" : "value"}>{value}</dd>
            {note === undefined ? null : <dd class="tiny muted">{note}</dd>}
          </div>
        );
      })}
    </dl>
  );
}
