// The few numbers that a page is about, large.
import type { Child } from "hono/jsx";

/** One number with what it counts and, small, what it means. */
export interface Figure {
  readonly label: string;
  readonly value: string;
  readonly note?: Child;
}

/** Figures side by side; the first is the largest. */
export function Figures({ figures }: { figures: readonly Figure[] }) {
  return (
    <dl class="card figures">
      {figures.map((figure) => (
        <div>
          <dt>{figure.label}</dt>
          <dd class={figure.value.length > longCharacters ? "value long" : "value"}>{figure.value}</dd>
          {figure.note === undefined || figure.note === null
            ? null
            : <dd class="tiny muted">{figure.note}</dd>}
        </div>
      ))}
    </dl>
  );
}

/** Longer values are set smaller. */
const longCharacters = 11;
