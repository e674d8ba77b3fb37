// The page after the password: a code of the app, a recovery code, or a passkey.
import { SubmitButton } from "../components/button.tsx";
import { type FormErrors, TextField } from "../components/field.tsx";
import { Notice } from "../components/notice.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";
import { PasskeyForm, PasskeysMissing } from "./passkey_form.tsx";
import { codeCharactersMax } from "./two_step.tsx";

/** What the page shows. */
export interface SecondStepPageProps {
  readonly frame: GateFrame;
  readonly email: string;
  readonly hasPasskeys: boolean;
  /** Asks for a recovery code instead of one of the app. */
  readonly isRecovery: boolean;
  /** What was typed. `returnTo`: the next page, checked by the caller. */
  readonly values: { readonly code: string; readonly returnTo: string | null };
  readonly rejected?: FormErrors | undefined;
}

const path = "/sign-in/second-step";

/** @returns The page of the second step. */
export function secondStepPage(props: SecondStepPageProps): Page {
  const { frame, isRecovery, values: { code, returnTo }, rejected } = props;
  return (
    <GatePage title="Two-step sign-in" frame={frame}>
      <form class="card" method="post" action={path}>
        <div>
          <h1>Two-step sign-in</h1>
          <p class="muted small">
            Signing in as <bdi>{props.email}</bdi>.
          </p>
        </div>
        {rejected?.message ? <Notice tone="refused" text={rejected.message} /> : null}
        {returnTo === null ? null : <input type="hidden" name="return_to" value={returnTo} />}
        {isRecovery ? <input type="hidden" name="recovery" value="1" /> : null}
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
          <a href={href(path, { ...(isRecovery ? {} : { recovery: "1" }), ...returnQuery(returnTo) })}>
            {isRecovery ? "Use a code from the app" : "Use a recovery code"}
          </a>
          {" · "}
          <a href={href("/sign-in", returnQuery(returnTo))}>Start over</a>
        </p>
      </form>
      {props.hasPasskeys
        ? (
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
        )
        : null}
    </GatePage>
  );
}

function returnQuery(returnTo: string | null): Record<string, string> {
  return returnTo === null ? {} : { return_to: returnTo };
}

function href(base: string, query: Record<string, string>): string {
  const text = new URLSearchParams(query).toString();
  return text === "" ? base : `${base}?${text}`;
}
