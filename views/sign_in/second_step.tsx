// The page after the password: a code of the app, a recovery code, or a passkey.
import { SubmitButton } from "../components/button.tsx";
import { TextField } from "../components/field.tsx";
import { Form, type FormErrors, returnField } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";
import { PasskeyForm, PasskeysMissing } from "./passkey_form.tsx";
import { codeCharactersMax } from "./two_step.tsx";

const path = "/sign-in/second-step";

export function secondStepPage({ frame, email, hasPasskeys, isRecovery, values, rejected }: {
  frame: GateFrame;
  email: string;
  hasPasskeys: boolean;
  /** Asks for a recovery code instead of one of the app. */
  isRecovery: boolean;
  /** As typed. `returnTo`: the next page, checked by the caller. */
  values: { code: string; returnTo: string | null };
  rejected?: FormErrors | undefined;
}): Page {
  const { code, returnTo } = values;
  return (
    <GatePage title="Two-step sign-in" frame={frame}>
      <Form
        class="card"
        action={path}
        hidden={{ ...returnField(returnTo), ...(isRecovery ? { recovery: "1" } : {}) }}
      >
        <div>
          <h1>Two-step sign-in</h1>
          <p class="muted small">
            Signing in as <bdi>{email}</bdi>.
          </p>
        </div>
        <Notice tone="refused" text={rejected?.message} />
        <TextField
          label={isRecovery ? "Recovery code" : "Code"}
          name="code"
          value={code}
          hint={isRecovery
            ? "One of the codes you saved, such as 7KQ2-MXFB-0D9T-HE4W. Each works once."
            : "The six digits in your authenticator app."}
          error={rejected?.fields["code"]}
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
      </Form>
      {hasPasskeys && (
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
      )}
    </GatePage>
  );
}

function href(base: string, query: Record<string, string>): string {
  const text = new URLSearchParams(query).toString();
  return text === "" ? base : `${base}?${text}`;
}
