// The page after the password: a code of the app, a recovery code, or a passkey.
import { SubmitButton } from "../components/button.tsx";
import { TextField } from "../components/field.tsx";
import { Notice } from "../components/notice.tsx";
import { PasskeyForm, PasskeysMissing } from "./passkey_form.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";

/** What the page shows. */
export interface SecondStepPageProps {
  readonly frame: GateFrame;
  /** Whose password was right. */
  readonly email: string;
  readonly hasPasskeys: boolean;
  /** Asks for a recovery code instead of one of the app. */
  readonly isRecovery: boolean;
  /** What was typed; `returnTo` is where to go afterwards, checked by the caller. */
  readonly values: { readonly code: string; readonly returnTo: string | null };
  readonly error: string | null;
  readonly fieldErrors: Readonly<Record<string, string>>;
}

const path = "/sign-in/second-step";
const codeCharactersMax = 40;

/** @returns The page of the second step. */
export function secondStepPage(props: SecondStepPageProps): Page {
  const { frame, email, isRecovery, values, error } = props;
  const { returnTo } = values;
  return (
    <GatePage title="One more step" frame={frame}>
      <form class="card" method="post" action={path}>
        <div>
          <h1>One more step</h1>
          <p class="muted small">
            Your password is right. You are signing in as <bdi>{email}</bdi>.
          </p>
        </div>
        {error === null ? null : <Notice tone="refused" text={error} />}
        {returnTo === null ? null : <input type="hidden" name="return_to" value={returnTo} />}
        {isRecovery ? <input type="hidden" name="recovery" value="1" /> : null}
        <CodeField {...props} />
        <SubmitButton>Sign in</SubmitButton>
        <p class="small muted">
          {isRecovery
            ? <a href={address({ returnTo, isRecovery: false })}>Use a code from the app</a>
            : <a href={address({ returnTo, isRecovery: true })}>Use a recovery code</a>}
          {" · "}
          <a href={address({ returnTo, isRecovery: false }, "/sign-in")}>Start over</a>
        </p>
      </form>
      {props.hasPasskeys
        ? (
          <div>
            <PasskeyForm
              assets={frame.assets}
              act="get"
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

function CodeField({ isRecovery, values, fieldErrors }: SecondStepPageProps) {
  return isRecovery
    ? (
      <TextField
        label="Recovery code"
        name="code"
        value={values.code}
        hint="One of those that you kept, such as 7KQ2-MXFB-0D9T-HE4W. Each works once."
        error={fieldErrors["code"]}
        autocomplete="off"
        inputmode="text"
        required
        maxlength={codeCharactersMax}
        autofocus
      />
    )
    : (
      <TextField
        label="Code"
        name="code"
        value={values.code}
        hint="The six digits that your authenticator app shows now."
        error={fieldErrors["code"]}
        autocomplete="one-time-code"
        inputmode="numeric"
        required
        maxlength={codeCharactersMax}
        autofocus
      />
    );
}

function address(
  { returnTo, isRecovery }: { returnTo: string | null; isRecovery: boolean },
  base: string = path,
): string {
  const query = new URLSearchParams({
    ...(isRecovery ? { recovery: "1" } : {}),
    ...(returnTo === null ? {} : { return_to: returnTo }),
  });
  return query.size === 0 ? base : `${base}?${query}`;
}
