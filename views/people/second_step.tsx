// The page after the password: a code of the app, a recovery code, or a passkey.
import { SubmitButton } from "../components/button.tsx";
import { TextField } from "../components/field.tsx";
import { returnField, type ShownForm, typed } from "../components/form.tsx";
import { GateCard } from "../components/gate_card.tsx";
import type { GateFrame, Page } from "../layout.tsx";
import { PasskeyForm, PasskeysMissing } from "./passkey_form.tsx";

const path = "/sign-in/second-step";
/** The length of a field for codes; recovery codes have hyphens. */
export const codeCharactersMax = 40;

export function secondStepPage({ frame, email, hasPasskeys, isRecovery, returnTo, form }: {
  frame: GateFrame;
  email: string;
  hasPasskeys: boolean;
  isRecovery: boolean;
  /** The next page, checked by the caller. */
  returnTo: string | null;
  form: ShownForm;
}): Page {
  const passkey = hasPasskeys && (
    <div>
      <PasskeyForm
        assets={frame.assets}
        ceremony="get"
        options={`${path}/passkey/options`}
        action={`${path}/passkey`}
        returnTo={returnTo}
        submit="Use a passkey"
      />
      <PasskeysMissing />
    </div>
  );
  return (
    <GateCard
      frame={frame}
      title="Two-step sign-in"
      text={
        <>
          Signing in as <bdi>{email}</bdi>.
        </>
      }
      action={path}
      hidden={{ ...returnField(returnTo), ...(isRecovery ? { recovery: "1" } : {}) }}
      error={form.message}
      first={passkey}
    >
      <TextField
        label={isRecovery ? "Recovery code" : "Code"}
        name="code"
        {...typed(form, "code")}
        hint={isRecovery
          ? "One of the codes you saved, such as 7KQ2-MXFB-0D9T-HE4W. Each works once."
          : "The six digits in your authenticator app."}
        autocomplete={isRecovery ? "off" : "one-time-code"}
        inputmode={isRecovery ? "text" : "numeric"}
        required
        maxlength={codeCharactersMax}
        autofocus
      />
      <SubmitButton>Sign in</SubmitButton>
      <p class="small muted">
        <a href={href(path, { ...(isRecovery ? {} : { recovery: "1" }), ...returnField(returnTo) })}>
          {isRecovery ? "Use a code from the app" : "Use a recovery code"}
        </a>
        {" · "}
        <a href={href("/sign-in", returnField(returnTo))}>Start over</a>
      </p>
    </GateCard>
  );
}

function href(base: string, query: Record<string, string>): string {
  const text = new URLSearchParams(query).toString();
  return text === "" ? base : `${base}?${text}`;
}
