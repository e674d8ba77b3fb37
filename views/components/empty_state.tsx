// The content of an empty list.
import type { Child } from "hono/jsx";

export function EmptyState({ title, text, children }: { title: string; text: string; children?: Child }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      <p class="muted">{text}</p>
      {children ?? null}
    </div>
  );
}
