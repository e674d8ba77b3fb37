// A state as a word. The colour only repeats what the word says.
import type { Child } from "hono/jsx";

/** `on` is well, `soon` needs attention, `off` is over. */
export type BadgeTone = "on" | "soon" | "off";

/** A state as a word in a small pill. */
export function Badge({ tone, children }: { tone: BadgeTone; children: Child }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}
