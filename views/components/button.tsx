// Buttons that send a form, and links that look like buttons.
import type { Child } from "hono/jsx";

/** `primary`: once per form. `destroy`: irreversible. `plain-destroy`: opens a `destroy` page. `quiet…`: in rows. */
export type ButtonTone = "primary" | "plain" | "plain-destroy" | "quiet" | "quiet-destroy" | "destroy";

/** For `about`, see {@linkcode ButtonLinkProps}. */
export function SubmitButton(
  { tone = "primary", about, children }: { tone?: ButtonTone; about?: string; children: Child },
) {
  return (
    <button type="submit" class={`button ${tone}`}>
      {children}
      <About text={about} />
    </button>
  );
}

interface ButtonLinkProps {
  readonly tone?: ButtonTone;
  readonly href: string;
  /** For screen readers, when every row has the same link: Revoke “Production”. */
  readonly about?: string;
  readonly isFile?: boolean;
  readonly children: Child;
}

export function ButtonLink({ tone = "plain", href, about, isFile = false, children }: ButtonLinkProps) {
  return (
    <a
      class={`button ${tone}`}
      href={href}
      // htmx would swap the file into the page.
      hx-boost={isFile ? "false" : undefined}
    >
      {children}
      <About text={about} />
    </a>
  );
}

function About({ text }: { text: string | undefined }) {
  return text === undefined ? null : <span class="unseen">{` “${text}”`}</span>;
}
