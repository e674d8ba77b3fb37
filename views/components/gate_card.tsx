// A signed-out page with one card: a heading, an introduction, and a form or what to do next.
import type { Child } from "hono/jsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";
import { Form } from "./form.tsx";
import { Notice } from "./notice.tsx";

interface GateCardProps {
  readonly frame: GateFrame;
  readonly title: string;
  readonly text?: Child | undefined;
  /** The form's target; without one, the card has no form. */
  readonly action?: string;
  /** By name. */
  readonly hidden?: Readonly<Record<string, string>> | undefined;
  /** The reason for a rejection, if no field has the error. */
  readonly error?: string | null | undefined;
  readonly children: Child;
}

export function GateCard({ frame, title, text, action, hidden, error, children }: GateCardProps): Page {
  const head = (
    <div>
      <h1>{title}</h1>
      {text && <p class="muted">{text}</p>}
    </div>
  );
  return (
    <GatePage title={title} frame={frame}>
      {action === undefined
        ? <div class="card">{head}{children}</div>
        : (
          <Form class="card" action={action} hidden={hidden}>
            {head}
            <Notice tone="refused" text={error} />
            {children}
          </Form>
        )}
    </GatePage>
  );
}

/** A small question below the form, with a link. */
export function GateHint({ text, href, label }: { text: string; href: string; label: string }) {
  return (
    <p class="small muted">
      {text} <a href={href}>{label}</a>
    </p>
  );
}
