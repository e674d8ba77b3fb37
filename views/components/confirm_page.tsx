// A confirmation page: what will happen, what it affects, and buttons to continue or cancel.
import type { Child } from "hono/jsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { ButtonLink, type ButtonTone, SubmitButton } from "./button.tsx";
import { type Fact, Facts } from "./facts.tsx";
import { Form, type FormProps } from "./form.tsx";
import { Notice } from "./notice.tsx";
import { PageHead, type PageLink } from "./page_head.tsx";
import type { Place } from "./side.tsx";

export interface ConfirmPageProps extends Omit<FormProps, "class" | "children"> {
  readonly frame: PortalFrame;
  readonly place: Place | null;
  /** The title of the browser's tab. */
  readonly title: string;
  /** The heading, if it differs from the title. `{name}` stands for `name`. */
  readonly heading?: string;
  readonly name?: string;
  readonly text: string;
  readonly facts: readonly Fact[];
  /** Default: the title. */
  readonly submit?: string;
  /** Default: `destroy`. */
  readonly tone?: ButtonTone;
  readonly back: PageLink;
  readonly children?: Child;
  readonly after?: Child;
}

export function ConfirmPage(props: ConfirmPageProps): Page {
  const { frame, place, title, heading = title, name, text, back, error, children } = props;
  return (
    <PortalPage title={title} frame={frame} place={place}>
      <div class="ask">
        <PageHead back={back} title={heading} name={name} text={text} />
        <Form class="card" action={props.action} hidden={props.hidden}>
          <Facts facts={props.facts} />
          {(error || children) && (
            <div class="body">
              <Notice tone="error" text={error} />
              {children}
            </div>
          )}
          <footer>
            <SubmitButton tone={props.tone ?? "destroy"}>{props.submit ?? title}</SubmitButton>
            <ButtonLink href={back.href}>Cancel</ButtonLink>
          </footer>
        </Form>
        {props.after}
      </div>
    </PortalPage>
  );
}
