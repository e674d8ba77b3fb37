// A card with a heading.
import type { Child } from "hono/jsx";

/** The parts of a card. */
export interface CardProps {
  readonly title: Child;
  /** Next to the title: counts, a legend. */
  readonly aside?: Child;
  /** Omits the padding, for tables that reach the edges. */
  readonly flush?: boolean;
  readonly children: Child;
}

/** A card with a second-level heading. */
export function Card({ title, aside, flush = false, children }: CardProps) {
  return (
    <section class="card">
      <header>
        <h2>{title}</h2>
        {aside ?? null}
      </header>
      {flush ? children : <div class="body">{children}</div>}
    </section>
  );
}
