// The page that asks for the password once more, before something that changes who can get into an account.
import { ConfirmPanel } from "./components/confirm_panel.tsx";
import { PasswordField, UsernameField } from "./components/field.tsx";
import { type Page, type PortalFrame, PortalPage } from "./layout.tsx";

/** What the page shows. */
export interface ConfirmPasswordPageProps {
  readonly frame: PortalFrame;
  /** Where to go afterwards, checked by the caller. */
  readonly returnTo: string;
  /** Where to go instead. */
  readonly back: string;
  readonly error: string | null;
  readonly fieldErrors: Readonly<Record<string, string>>;
}

/** @returns The page that asks for the password. */
export function confirmPasswordPage(props: ConfirmPasswordPageProps): Page {
  const { frame, returnTo, back, error, fieldErrors } = props;
  const { email } = frame.session.user;
  return (
    <PortalPage title="Confirm that it is you" frame={frame} place={null}>
      <ConfirmPanel
        title="Confirm that it is you"
        text="You gave your password more than ten minutes ago. What comes next could cost you the account, so we make sure that it is still you."
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
      </ConfirmPanel>
    </PortalPage>
  );
}
