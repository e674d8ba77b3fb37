// The page that asks for the password once more, before something that changes who can get into an account.
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { PasswordField, TextField, UsernameField } from "../components/field.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

const codeCharactersMax = 40;
/** Where a link is asked for that turns off two-step sign-in. */
export const turnOffLinkPath = "/portal/account/two-step/turn-off-link";

/** What the page shows. */
export interface ConfirmPasswordPageProps {
  readonly frame: PortalFrame;
  /** Where to go afterwards, checked by the caller. */
  readonly returnTo: string;
  /** Where to go instead. */
  readonly back: string;
  /** Two-step sign-in is on: it takes a code too. */
  readonly asksForCode: boolean;
  readonly error: string | null;
  readonly fieldErrors: Readonly<Record<string, string>>;
}

/** @returns The page that asks for the password. */
export function confirmPasswordPage(props: ConfirmPasswordPageProps): Page {
  const { frame, returnTo, back, asksForCode, error, fieldErrors } = props;
  const { email } = frame.session.user;
  return (
    <PortalPage title="Confirm that it is you" frame={frame} place={null}>
      <ConfirmPanel
        title="Confirm that it is you"
        text={asksForCode
          ? "The next step changes who can sign in to your account. Enter your password and a code to continue."
          : "The next step changes who can sign in to your account. Enter your password to continue."}
        facts={[{ label: "Signed in as", value: email }]}
        action="/portal/confirm-password"
        submit="Go on"
        tone="primary"
        back={{ href: back, label: "Back" }}
        error={error}
      >
        <input type="hidden" name="return_to" value={returnTo} />
        <UsernameField email={email} />
        <PasswordField label="Password" name="password" error={fieldErrors["password"]} autofocus />
        {asksForCode && (
          <TextField
            label="Code"
            name="code"
            value=""
            hint="Six digits from your authenticator app, or a recovery code."
            error={fieldErrors["code"]}
            autocomplete="one-time-code"
            maxlength={codeCharactersMax}
          />
        )}
        {asksForCode && (
          <p class="small muted">
            Lost both? <a href={turnOffLinkPath}>Get a link by email</a> that turns off two-step sign-in.
          </p>
        )}
      </ConfirmPanel>
    </PortalPage>
  );
}
