// The page that asks for the password again, before changes of who can sign in to an account.
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { type FormErrors, PasswordField, TextField, UsernameField } from "../components/field.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { codeCharactersMax, turnOffLinkPath } from "./two_step.tsx";

/** What the page shows. */
export interface ConfirmPasswordPageProps {
  readonly frame: PortalFrame;
  /** The next page, checked by the caller. */
  readonly returnTo: string;
  /** The page behind “Cancel”. */
  readonly back: string;
  /** Two-step sign-in is on: a code is required too. */
  readonly asksForCode: boolean;
  readonly rejected?: FormErrors | undefined;
}

/** @returns The page that asks for the password. */
export function confirmPasswordPage(props: ConfirmPasswordPageProps): Page {
  const { frame, returnTo, back, asksForCode, rejected } = props;
  const { email } = frame.session.user;
  const asked = asksForCode ? "your password and a code" : "your password";
  return (
    <PortalPage title="Confirm it's you" frame={frame} place={null}>
      <ConfirmPanel
        title="Confirm it's you"
        text={`The next step changes who can sign in to your account. Enter ${asked} to continue.`}
        facts={[{ label: "Signed in as", value: email }]}
        action="/portal/confirm-password"
        submit="Continue"
        tone="primary"
        back={{ href: back, label: "Back" }}
        error={rejected?.message ?? null}
      >
        <input type="hidden" name="return_to" value={returnTo} />
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
      </ConfirmPanel>
    </PortalPage>
  );
}
