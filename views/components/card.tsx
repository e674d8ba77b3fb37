// A card with a heading.
import type { Child } from "hono/jsx";

export function Card({ title, aside, flush = false, children }: {
  title: Child;
  aside?: Child;
  /** Omits the padding, for tables that reach the edges. */
  flush?: boolean;
  children: Child;
}) {
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
