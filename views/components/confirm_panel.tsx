// A page of its own that asks before something is done: what will happen, what it is about, and two ways out.
import type { Child } from "hono/jsx";
import { ButtonLink, type ButtonTone, SubmitButton } from "./button.tsx";
import { Icon } from "./icon.tsx";
import { Notice } from "./notice.tsx";

/** A fact about what the page is about. */
export interface Fact {
  readonly label: string;
  readonly value: Child;
}

/** What is asked. */
export interface ConfirmPanelProps {
  readonly title: Child;
  /** One or two sentences: what happens. */
  readonly text: string;
  readonly facts: readonly Fact[];
  /** Where the form is sent. */
  readonly action: string;
  readonly submit: string;
  readonly tone: ButtonTone;
  /** Where the page came from, and goes back to. */
  readonly back: { readonly href: string; readonly label: string };
  /** What the form says beside its fields, by name: what it is about must not depend on what is active when it is sent. */
  readonly about?: Readonly<Record<string, string>>;
  /** Why it was refused, if it was and no field says so. */
  readonly error?: string | null;
  /** Fields, if the act needs any. */
  readonly children?: Child;
}

/** The heading and the card of a page that asks. */
export function ConfirmPanel(props: ConfirmPanelProps) {
  const { error = null } = props;
  return (
    <div class="ask">
      <div class="head">
        <a class="up-link" href={props.back.href}>
          <Icon name="back" />
          {props.back.label}
        </a>
        <h1>{props.title}</h1>
        <p class="muted">{props.text}</p>
      </div>
      <form class="card" method="post" action={props.action} hx-disable="find button">
        {Object.entries(props.about ?? {}).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <dl class="facts">
          {props.facts.map((fact) => (
            <div>
              <dt>{fact.label}</dt>
              <dd>{fact.value}</dd>
            </div>
          ))}
        </dl>
        {props.children === undefined && error === null ? null : (
          <div class="body">
            {error === null ? null : <Notice tone="refused" text={error} />}
            {props.children}
          </div>
        )}
        <footer>
          <SubmitButton tone={props.tone}>{props.submit}</SubmitButton>
          <ButtonLink href={props.back.href}>Cancel</ButtonLink>
        </footer>
      </form>
    </div>
  );
}
