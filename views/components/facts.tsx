// Details of something: short labels, each above its value.
import type { Child } from "hono/jsx";

export interface Fact {
  readonly label: Child;
  readonly value: Child;
}

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
