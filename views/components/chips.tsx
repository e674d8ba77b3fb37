// A few choices as links, one of which is the current one.

/** One choice. */
export interface Chip {
  readonly label: string;
  readonly href: string;
  readonly isCurrent: boolean;
}

/** A row of choices. */
export function Chips({ label, chips }: { label: string; chips: readonly Chip[] }) {
  return (
    <nav class="chips" aria-label={label}>
      {chips.map((chip) => (
        <a href={chip.href} aria-current={chip.isCurrent ? "true" : undefined}>{chip.label}</a>
      ))}
    </nav>
  );
}
