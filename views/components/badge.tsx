// A state in one word. The color only repeats the word.
import type { Child } from "hono/jsx";

/** `on`: fine. `soon`: needs attention. `bad`: failing. `off`: inactive. */
export type BadgeTone = "on" | "soon" | "bad" | "off";

export function Badge({ tone, children }: { tone: BadgeTone; children: Child }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}
