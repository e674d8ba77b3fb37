// Details of something: short labels, each above its value.
import type { Child } from "hono/jsx";

/** A detail. */
export interface Fact {
  readonly label: Child;
  readonly value: Child;
}

/** The details in a row. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(({ label, value }) => (
        <div>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
