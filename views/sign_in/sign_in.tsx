// The page that signs people in.
import { SubmitButton } from "../components/button.tsx";
import { PasswordField, TextField } from "../components/field.tsx";
import { Notice, type NoticeProps } from "../components/notice.tsx";
import { PasskeyForm } from "./passkey_form.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";
import { withReturnTo } from "../../domain/sign_in/return_to.ts";
import { emailCharactersMax } from "../../domain/limits.ts";

/** What the page shows. */
export interface SignInPageProps {
  readonly frame: GateFrame;
  /** What was typed; `returnTo` is where to go afterwards, checked by the caller. */
  readonly values: { readonly email: string; readonly returnTo: string | null };
  /** What is wrong with the whole form. */
  readonly error: string | null;
  /** What is wrong with one field, by its name. */
  readonly fieldErrors: Readonly<Record<string, string>>;
  /** What happened before, such as “You are signed out.” */
  readonly notice: NoticeProps | null;
}

/** @returns The sign-in page. */
export function signInPage({ frame, values, error, fieldErrors, notice }: SignInPageProps): Page {
  return (
    <GatePage title="Sign in" frame={frame}>
      <form class="card" method="post" action="/sign-in">
        <div>
          <h1>Sign in</h1>
          <p class="muted small">One account for every product here.</p>
        </div>
        {notice === null ? null : <Notice {...notice} />}
        {error === null ? null : <Notice tone="refused" text={error} />}
        {values.returnTo === null ? null : <input type="hidden" name="return_to" value={values.returnTo} />}
        <TextField
          label="E-mail"
          name="email"
          type="email"
          value={values.email}
          error={fieldErrors["email"]}
          autocomplete="username"
          required
          maxlength={emailCharactersMax}
          autofocus={values.email === ""}
        />
        <PasswordField
          label="Password"
          name="password"
          error={fieldErrors["password"]}
          autofocus={values.email !== "" && fieldErrors["email"] === undefined}
        />
        <SubmitButton>Sign in</SubmitButton>
        <p class="small">
          <a href="/forgot-password">Forgot your password?</a>
        </p>
        {frame.signUpOpen
          ? (
            <p class="small muted">
              New here? <a href={withReturnTo("/sign-up", values.returnTo)}>Create an account</a>
            </p>
          )
          : null}
      </form>
      <PasskeyForm
        assets={frame.assets}
        act="get"
        options="/api/auth/sign-in/passkey/options"
        action="/sign-in/passkey"
        returnTo={values.returnTo}
        submit="Sign in with a passkey"
      />
    </GatePage>
  );
}
