// Forms that a passkey answers. static/passkeys.js shows them, asks the passkey, and sends its answer in the field `response`:
// without scripts, and in browsers without passkeys, they stay hidden, and the words beside them say why.
import type { Child } from "hono/jsx";
import type { Assets } from "../layout.tsx";
import { type ButtonTone, SubmitButton } from "../components/button.tsx";

/** What the form needs. */
export interface PasskeyFormProps {
  readonly assets: Assets;
  /** Makes a passkey, or asks for one. */
  readonly act: "create" | "get";
  /** Where the options are fetched. */
  readonly options: string;
  /** Where the answer is sent. */
  readonly action: string;
  /** Where to go when the options take the password first. */
  readonly proof?: string;
  /** Where to go afterwards. */
  readonly returnTo?: string | null;
  readonly tone?: ButtonTone;
  readonly submit: string;
  /** Fields. */
  readonly children?: Child;
}

/** The form with its button. */
export function PasskeyForm(props: PasskeyFormProps) {
  const { assets, act, tone = "plain", returnTo = null } = props;
  return (
    <form
      class="passkey"
      method="post"
      action={props.action}
      // The browser itself sends it: the answer may lead to another frame.
      hx-boost="false"
      data-passkeys={assets.passkeys}
      data-passkey={act}
      data-options={props.options}
      data-proof={props.proof}
      hidden
    >
      {returnTo === null ? null : <input type="hidden" name="return_to" value={returnTo} />}
      <input type="hidden" name="response" value="" />
      {props.children ?? null}
      <SubmitButton tone={tone}>{props.submit}</SubmitButton>
      <p class="refusal" role="alert" data-passkey-trouble></p>
    </form>
  );
}

/** Why there is no button: no scripts, or no passkeys in this browser. */
export function PasskeysMissing() {
  return (
    <>
      <p class="muted small without-scripts">Passkeys need scripts, which are off in this browser.</p>
      <p class="muted small" data-passkeys-missing hidden>
        Passkeys do not work here: this browser has none, or the address is not a secure one.
      </p>
    </>
  );
}
