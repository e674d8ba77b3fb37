// Forms, with their hidden fields and the reason why they were rejected.
import type { Child } from "hono/jsx";
import type { Session } from "../../domain/access/session.ts";
import { Notice } from "./notice.tsx";

/** One message for the form, or one for each field by name. */
export interface FormErrors {
  readonly message: string | null;
  readonly fields: Readonly<Record<string, string>>;
}

/** A form as it is shown: at first, or again with its input after it was rejected. */
export interface ShownForm extends FormErrors {
  readonly input?: Readonly<Record<string, string>>;
}

/** Returns the value and the error of a field. `first`: its value before the form was sent. */
export function typed(form: ShownForm | undefined, name: string, first = "") {
  return { value: form?.input?.[name] ?? first, ...errorAt(form?.fields ?? {}, name) };
}

/** Returns the error of a field, and whether the focus goes to a field with an error instead of the form's first. */
export function errorAt(fields: FormErrors["fields"], name: string) {
  return { error: fields[name], isRejected: Object.keys(fields).length > 0 };
}

export interface FormProps {
  readonly class?: string;
  readonly action: string;
  readonly hidden?: Readonly<Record<string, string>> | undefined;
  /** The reason for a rejection, if no field has the error. */
  readonly error?: string | null | undefined;
  readonly children: Child;
}

/** Its buttons are off while it is sent. */
export function Form({ hidden, error, children, ...attributes }: FormProps) {
  return (
    <form method="post" hx-disable="find [type=submit]" {...attributes}>
      <HiddenFields values={hidden} />
      <Notice tone="error" text={error} />
      {children}
    </form>
  );
}

/** The fields and the button are in one row. `note`: a text below. */
export function RowForm(
  { note, hasOneField = false, children, ...form }: FormProps & { note?: string; hasOneField?: boolean },
) {
  return (
    <Form class="new-key" {...form}>
      <div class={hasOneField ? "row one" : "row"}>{children}</div>
      {note && <p class="muted small">{note}</p>}
    </Form>
  );
}

/** Hidden fields of a form. Null values have no field. */
export function HiddenFields(
  { values = {} }: { values?: Readonly<Record<string, string | null>> | undefined },
) {
  const fields = Object.entries(values).filter(([, value]) => value !== null);
  return <>{fields.map(([name, value]) => <input type="hidden" name={name} value={value ?? ""} />)}</>;
}

/** Returns hidden fields for a form about the active organization: another one may be active when it is sent. */
export function aboutOrganization(
  { session: { organization }, viewed }: { readonly session: Session; readonly viewed: object | null },
): Readonly<Record<string, string>> {
  return organization === null || viewed !== null ? {} : { organizationId: organization.organizationId };
}

/** Returns the hidden field of a form that leads on to another page, if there is one. */
export function returnField(returnTo: string | null | undefined): Readonly<Record<string, string>> {
  return returnTo ? { return_to: returnTo } : {};
}
