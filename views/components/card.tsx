// The white card that everything on a page sits on.
import type { Child } from "hono/jsx";

/** What a card holds. */
export interface CardProps {
  readonly title: Child;
  /** Small, at the right of the title: counts, a legend. */
  readonly aside?: Child;
  /** Leaves out the padding, for tables that reach the edges. */
  readonly flush?: boolean;
  readonly children: Child;
}

/** A card with a heading of the second level. */
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
