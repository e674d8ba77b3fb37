// What a list says when there is nothing in it yet, and what to do about it.
import type { Child } from "hono/jsx";

/** A few words, a sentence, and what to do next. */
export function EmptyState({ title, text, children }: { title: string; text: string; children?: Child }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      <p class="muted">{text}</p>
      {children ?? null}
    </div>
  );
}
