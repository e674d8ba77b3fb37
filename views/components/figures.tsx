// A row of large numbers.
import type { Child } from "hono/jsx";
import { type Measure, quantityText } from "../text/quantity.ts";
import { Quantity } from "./quantity.tsx";

export interface Figure {
  readonly label: string;
  /** A number or a decimal string; none if there is nothing to show. */
  readonly number: number | string | undefined;
  readonly measure?: Measure;
  readonly note?: Child;
}

/** Longer numbers are smaller. */
const longCharacters = 11;

export function Figures({ figures }: { figures: readonly Figure[] }) {
  return (
    <dl class="card figures">
      {figures.map(({ label, number, measure = { name: label, unit: null }, note }) => {
        const { number: text } = quantityText(number ?? "–", measure);
        return (
          <div>
            <dt>{label}</dt>
            <dd class={text.length > longCharacters ? "value long" : "value"}>
              <Quantity value={number ?? "–"} measure={measure} />
            </dd>
            {note === undefined ? null : <dd class="tiny muted">{note}</dd>}
          </div>
        );
      })}
    </dl>
  );
}
