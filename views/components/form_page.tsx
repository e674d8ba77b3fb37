// A page whose only purpose is a form.
import type { Child } from "hono/jsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { ButtonLink, type ButtonTone, SubmitButton } from "./button.tsx";
import { Form, type FormErrors, type FormProps } from "./form.tsx";
import { Notice } from "./notice.tsx";
import { PageHead, type PageLink } from "./page_head.tsx";
import type { Place } from "./side.tsx";

/** Typed values, by the names of their fields. */
export type FormInput = Readonly<Record<string, string>>;

/** A form to show, with props of {@linkcode FormPage} and `ConfirmPage`. */
export interface PageForm {
  readonly frame: PortalFrame;
  readonly place: Place;
  readonly back: PageLink;
  /** The address of the page, which is the form's target. */
  readonly action: string;
  /** Fields that are sent but not shown, by name. */
  readonly hidden: FormInput;
  /** Undefined until the form was sent and rejected. */
  readonly input: FormInput | undefined;
  /** Why it was rejected, if no field has the error. */
  readonly error: string | null;
  readonly fields: FormErrors["fields"];
  /** Returns props of a field. `first`: its value before the form was sent. */
  readonly field: (name: string, first?: string) => {
    readonly name: string;
    readonly value: string;
    readonly error: string | undefined;
    readonly isRejected: boolean;
    readonly autocomplete: "off";
  };
}

export interface FormPageProps extends Pick<FormProps, "action" | "hidden"> {
  readonly frame: PortalFrame;
  readonly place: Place | null;
  /** The name of the page in the browser. */
  readonly title: string;
  /** The heading, if it differs from the title. `{name}` stands for `name`. */
  readonly heading?: string | undefined;
  readonly name?: string | undefined;
  readonly text?: Child;
  readonly back: PageLink;
  /** Why the form was rejected, if no field has the error. */
  readonly error: string | null | undefined;
  readonly submit: string;
  readonly tone?: ButtonTone;
  readonly children: Child;
  /** Further fields, each below a line. */
  readonly more?: readonly Child[];
  /** For a few fields below each other. */
  readonly isNarrow?: boolean;
}

export function FormPage(props: FormPageProps): Page {
  const { frame, place, title, heading = title, name, text, back } = props;
  const content = (
    <>
      <PageHead back={back} title={heading} name={name} text={text} />
      <Form class="card" action={props.action} hidden={props.hidden}>
        <div class="body">
          <Notice tone="error" text={props.error} />
          {props.children}
        </div>
        {(props.more ?? []).map((fields) => <div class="body ruled">{fields}</div>)}
        <footer>
          <SubmitButton tone={props.tone ?? "primary"}>{props.submit}</SubmitButton>
          <ButtonLink href={back.href}>Cancel</ButtonLink>
        </footer>
      </Form>
    </>
  );
  return (
    <PortalPage title={title} frame={frame} place={place}>
      {props.isNarrow ? <div class="ask">{content}</div> : content}
    </PortalPage>
  );
}
