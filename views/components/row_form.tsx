// A form whose fields and button are in one row.
import type { Child } from "hono/jsx";
import { HiddenFields } from "./field.tsx";
import { Notice } from "./notice.tsx";

/** What is wrong with a form after it was sent. */
export interface FormErrors {
  /** Messages by field name. */
  readonly fieldErrors: Readonly<Record<string, string>>;
  /** What is wrong with the form as a whole. */
  readonly error: string | null;
}

/** The parts of the form. */
export interface RowFormProps {
  readonly action: string;
  readonly error: string | null;
  /** Hidden fields by name. */
  readonly about?: Readonly<Record<string, string>>;
  /** A note below the row. */
  readonly note?: string;
  /** There is only one field. */
  readonly hasOneField?: boolean;
  readonly children: Child;
}

/** @param props See {@linkcode RowFormProps}. */
export function RowForm({ action, error, about = {}, note, hasOneField = false, children }: RowFormProps) {
  return (
    <form class="new-key" method="post" action={action} hx-disable="find button">
      <HiddenFields values={about} />
      <Notice tone="refused" text={error} />
      <div class={hasOneField ? "row one" : "row"}>{children}</div>
      {note === undefined ? null : <p class="muted small">{note}</p>}
    </form>
  );
}
