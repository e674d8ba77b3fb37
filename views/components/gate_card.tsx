// A signed-out page with one card: a heading, an introduction, and a form or what to do next.
import type { Child } from "hono/jsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";
import { ButtonLink } from "./button.tsx";
import { Form, type FormProps } from "./form.tsx";
import { Notice } from "./notice.tsx";

interface GateCardProps extends Partial<FormProps> {
  readonly frame: GateFrame;
  readonly title: string;
  readonly text?: Child | undefined;
  /** A form of its own, above that of the card. */
  readonly first?: Child;
  readonly goOnTo?: string;
}

/** Without an `action`, the card has no form. */
export function GateCard(props: GateCardProps): Page {
  const { frame, title, text, action, hidden, error, first, goOnTo, children } = props;
  const head = (
    <div>
      <h1>{title}</h1>
      {text && <p class="muted">{text}</p>}
    </div>
  );
  return (
    <GatePage title={title} frame={frame} goOnTo={goOnTo}>
      <div class="card">
        {head}
        <Notice tone="error" text={error} />
        {first}
        {action === undefined
          ? children
          : <Form class="part" action={action} hidden={hidden}>{children}</Form>}
      </div>
    </GatePage>
  );
}

/** Redirects without scripts. The link is for browsers that don't redirect. */
export function redirectCard(
  { frame, title, text, href }: { frame: GateFrame; title: string; text: Child; href: string },
): Page {
  return (
    <GateCard frame={frame} title={title} text={text} goOnTo={href}>
      <ButtonLink tone="primary" href={href}>Continue</ButtonLink>
    </GateCard>
  );
}

export function GateHint({ text, href, label }: { text: string; href: string; label: string }) {
  return (
    <p class="small muted">
      {text} <a href={href}>{label}</a>
    </p>
  );
}
