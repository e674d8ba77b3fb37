// What can be pressed: buttons that send a form, and links that look like them.
import type { Child } from "hono/jsx";

/**
 * How loud: `primary` once a form, `destroy` for what cannot be taken back, `plain-destroy` for what leads to it, the quiet
 * ones in rows.
 */
export type ButtonTone = "primary" | "plain" | "plain-destroy" | "quiet" | "quiet-destroy" | "destroy";

/** A button that sends the form around it. `about` is as in {@linkcode ButtonLinkProps}. */
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

/** What a {@linkcode ButtonLink} is made of. */
export interface ButtonLinkProps {
  readonly tone?: ButtonTone;
  readonly href: string;
  /** Read out after the words, for links that repeat in every row: Revoke “Production”. */
  readonly about?: string;
  /** It leads to a file, not to a page. */
  readonly isFile?: boolean;
  readonly children: Child;
}

/** A link that looks like a button. */
export function ButtonLink({ tone = "plain", href, about, isFile = false, children }: ButtonLinkProps) {
  return (
    <a
      class={`button ${tone}`}
      href={href}
      // htmx would put the file into the page.
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
