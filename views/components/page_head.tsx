// The heading of a page.
import type { Child } from "hono/jsx";
import { Icon } from "./icon.tsx";

export interface PageLink {
  readonly href: string;
  readonly label: string;
}

export function PageHead(
  { back, title, name, text, keepsActions = false, children }: {
    back?: PageLink;
    /** `{name}` stands for `name`. */
    title: string;
    name?: string | undefined;
    text?: Child;
    /** On phones, the actions stay next to the title: for one short button. */
    keepsActions?: boolean;
    children?: Child;
  },
) {
  const [before, after] = title.split("{name}");
  return (
    <div class={keepsActions ? "head keep" : "head"}>
      <div>
        {back && (
          <a class="up-link" href={back.href}>
            <Icon name="back" />
            {back.label}
          </a>
        )}
        <h1>
          {after === undefined ? before : (
            <>
              {before}
              <bdi>{name}</bdi>
              {after}
            </>
          )}
        </h1>
        {text && <p class="muted">{text}</p>}
      </div>
      {children ? <div class="head-acts">{children}</div> : null}
    </div>
  );
}
