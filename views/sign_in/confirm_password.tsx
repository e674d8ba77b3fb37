// The page that asks for the password again, before changes of who can sign in to an account.
import { ConfirmPage } from "../components/confirm_page.tsx";
import { PasswordField, TextField, UsernameField } from "../components/field.tsx";
import type { FormErrors } from "../components/form.tsx";
import type { Page, PortalFrame } from "../layout.tsx";
import { codeCharactersMax, turnOffLinkPath } from "./two_step.tsx";

/** @returns The page that asks for the password. */
export function confirmPasswordPage({ frame, returnTo, back, isForConsole, asksForCode, rejected }: {
  frame: PortalFrame;
  /** The next page, checked by the caller. */
  returnTo: string;
  /** The page behind “Cancel”. */
  back: string;
  /** The next page belongs to the operator console. */
  isForConsole: boolean;
  /** Two-step sign-in is on: a code is required too. */
  asksForCode: boolean;
  rejected?: FormErrors | undefined;
}): Page {
  const { email } = frame.session.user;
  const asked = asksForCode ? "your password and a code" : "your password";
  return (
    <ConfirmPage
      frame={frame}
      place={null}
      title="Confirm it's you"
      text={`${
        isForConsole
          ? "The operator console asks again from time to time, and before changes."
          : "The next step changes who can sign in to your account."
      } Enter ${asked} to continue.`}
      facts={[{ label: "Signed in as", value: email }]}
      action="/portal/confirm-password"
      submit="Continue"
      tone="primary"
      back={{ href: back, label: "Back" }}
      hidden={{ return_to: returnTo }}
      error={rejected?.message}
    >
      <UsernameField email={email} />
      <PasswordField label="Password" name="password" error={rejected?.fields["password"]} autofocus />
      {asksForCode && (
        <>
          <TextField
            label="Code"
            name="code"
            value=""
            hint="Six digits from your authenticator app, or a recovery code."
            error={rejected?.fields["code"]}
            autocomplete="one-time-code"
            maxlength={codeCharactersMax}
          />
          <p class="small muted">
            Lost both? <a href={turnOffLinkPath}>Get a link by email</a> that turns off two-step sign-in.
          </p>
        </>
      )}
    </ConfirmPage>
  );
}
