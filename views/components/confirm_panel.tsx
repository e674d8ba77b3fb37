// A confirmation page: what will happen, what it affects, and buttons to continue or cancel.
import type { Child } from "hono/jsx";
import { ButtonLink, type ButtonTone, SubmitButton } from "./button.tsx";
import { HiddenFields } from "./field.tsx";
import { Notice } from "./notice.tsx";
import { PageHead, type PageLink } from "./page_head.tsx";

/** A detail of the object in question. */
export interface Fact {
  readonly label: string;
  readonly value: Child;
}

/** The parts of a confirmation. */
export interface ConfirmPanelProps {
  readonly title: Child;
  /** What will happen, in one or two sentences. */
  readonly text: string;
  readonly facts: readonly Fact[];
  /** The form's target. */
  readonly action: string;
  readonly submit: string;
  readonly tone: ButtonTone;
  /** The page to return to. */
  readonly back: PageLink;
  /** Hidden fields by name, so that the form's object does not depend on the active organization when it is sent. */
  readonly about?: Readonly<Record<string, string>>;
  /** Why the form was rejected, if no field has the error. */
  readonly error?: string | null;
  /** Fields, if any. */
  readonly children?: Child;
}

/** The heading and the card of a confirmation page. */
export function ConfirmPanel(props: ConfirmPanelProps) {
  const { error = null } = props;
  return (
    <div class="ask">
      <PageHead back={props.back} title={props.title} text={props.text} />
      <form class="card" method="post" action={props.action} hx-disable="find button">
        <HiddenFields values={props.about ?? {}} />
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
            <Notice tone="refused" text={error} />
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
