// Forms for passkeys. static/passkeys.js shows them, asks for the passkey, and sends the result in the field `response`.
// Without scripts or passkeys they stay hidden, and a note explains why.
import type { Child } from "hono/jsx";
import type { Assets } from "../layout.tsx";
import { type ButtonTone, SubmitButton } from "../components/button.tsx";
import { HiddenFields, returnField } from "../components/form.tsx";

export function PasskeyForm(props: {
  assets: Assets;
  ceremony: "create" | "get";
  options: string;
  action: string;
  /** The page to open if the options require a recent authentication. */
  reauthenticate?: string;
  returnTo?: string | null;
  tone?: ButtonTone;
  submit: string;
  children?: Child;
}) {
  return (
    <form
      class="passkey"
      method="post"
      action={props.action}
      // Not sent by htmx: the next page may have another frame.
      hx-boost="false"
      data-script={props.assets.passkeys}
      data-passkey={props.ceremony}
      data-options={props.options}
      data-reauthenticate={props.reauthenticate}
      hidden
    >
      <HiddenFields values={{ ...returnField(props.returnTo), response: "" }} />
      {props.children}
      <SubmitButton tone={props.tone ?? "plain"}>{props.submit}</SubmitButton>
      <p class="field-error" role="alert" data-passkey-error></p>
    </form>
  );
}

export function PasskeysMissing() {
  return (
    <>
      <p class="muted small without-scripts">Passkeys require JavaScript, which is off in this browser.</p>
      <p class="muted small" data-passkeys-missing hidden>
        Passkeys aren't available: this browser doesn't support them, or the connection isn't secure.
      </p>
    </>
  );
}
