// A state in one word. The color only repeats the word.
import type { Child } from "hono/jsx";

/** `on`: fine. `soon`: needs attention. `bad`: failing. `off`: inactive. */
export type BadgeTone = "on" | "soon" | "bad" | "off";

export function Badge({ tone, children }: { tone: BadgeTone; children: Child }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** Words in a row, such as the properties of usage; a dash for none. */
export function Tags({ words }: { words: readonly string[] }) {
  if (words.length === 0) return <span class="muted">–</span>;
  return (
    <span class="tags">
      {words.map((word) => (
        <Badge tone="off">
          <bdi>{word}</bdi>
        </Badge>
      ))}
    </span>
  );
}
