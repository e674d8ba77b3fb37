// The heading of a page.
import type { Child } from "hono/jsx";
import { Icon } from "./icon.tsx";

export interface PageLink {
  readonly href: string;
  readonly label: string;
}

export interface PageHeadProps {
  readonly back?: PageLink;
  /** `{name}` stands for `name`. */
  readonly title: string;
  readonly name?: string | undefined;
  readonly text?: Child;
  /** On phones, the actions stay next to the title: for one short button. */
  readonly keepsActions?: boolean;
  readonly children?: Child;
}

export function PageHead(
  { back, title, name, text, keepsActions = false, children }: PageHeadProps,
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
