// Text to copy: secrets and commands. Copy buttons need static/portal.js; without scripts, a click selects the whole text.
import type { Child } from "hono/jsx";
import type { ExampleUsage } from "../../domain/meter/catalogue.ts";
import { Icon } from "./icon.tsx";

/** Builds the command that records one unit. By default, the key is the shell's `$GATEHOUSE_KEY`. */
export function exampleCurl(
  usageUrl: string,
  { productSlug, metric }: ExampleUsage,
  fullKey = "$GATEHOUSE_KEY",
): string {
  return [
    `curl ${usageUrl} \\`,
    `  -H "Authorization: Bearer ${fullKey}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '{"productSlug": "${productSlug}", "metric": "${metric}", "quantity": 1}'`,
  ].join("\n");
}

export function Secret({ id, value, copy }: { id: string; value: string; copy: string }) {
  return (
    <div class="secret">
      <code id={id} class="pick">{value}</code>
      <CopyButton target={id} tone="primary">{copy}</CopyButton>
    </div>
  );
}

/**
 * A new key, token or secret, shown once. Takes the focus, so that screen readers read it. `text` follows the advice to copy it.
 * `isReplaced`: something that stays has it now.
 */
export function NewSecret(
  { what, name, isReplaced = false, value, text, children }: {
    what: "key" | "token" | "secret";
    name: string;
    isReplaced?: boolean;
    value: string;
    text?: Child;
    children?: Child;
  },
) {
  const id = `new-${what}`;
  return (
    <section class="notice" aria-labelledby={`${id}-title`} tabindex={-1} autofocus>
      <div>
        <h2 id={`${id}-title`}>
          {isReplaced && `New ${what} for `}“<bdi>{name}</bdi>”{!isReplaced && " is ready"}
        </h2>
        <p class="small">
          <strong>{`Copy the ${what} now. It won't be shown again.`}</strong>
          {text}
        </p>
      </div>
      <Secret id={id} value={value} copy={`Copy ${what}`} />
      {children}
    </section>
  );
}

export function CopyButton(props: { target: string; tone: "primary" | "quiet"; children: Child }) {
  return (
    <button type="button" class={`button ${props.tone} with-scripts`} data-copy={props.target}>
      <Icon name="copy" />
      <span data-copy-words>{props.children}</span>
    </button>
  );
}
