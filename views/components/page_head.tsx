// The heading of a page, below a link to the page above it.
import type { Child } from "hono/jsx";
import { Icon } from "./icon.tsx";

/** A link to another page. */
export interface PageLink {
  readonly href: string;
  readonly label: string;
}

/** The heading with a sentence about the page, and at its side what `children` are. */
export function PageHead(
  { back, title, text, children }: { back: PageLink; title: Child; text: Child; children?: Child },
) {
  return (
    <div class={children ? "head split" : "head"}>
      <div>
        <a class="up-link" href={back.href}>
          <Icon name="back" />
          {back.label}
        </a>
        <h1>{title}</h1>
        <p class="muted">{text}</p>
      </div>
      {children ?? null}
    </div>
  );
}
