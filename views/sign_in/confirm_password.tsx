// The page that asks for the password or a passkey again, before changes of who can sign in to an account, and in the console.
import { Card } from "../components/card.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { Facts } from "../components/facts.tsx";
import { PasswordField, TextField, UsernameField } from "../components/field.tsx";
import type { ShownForm } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { PasskeyForm, PasskeysMissing } from "./passkey_form.tsx";
import { codeCharactersMax, turnOffLinkPath } from "./two_step.tsx";

const path = "/portal/confirm-password";
const title = "Confirm it's you";

interface ConfirmPasswordProps {
  readonly frame: PortalFrame;
  /** The next page, checked by the caller. */
  readonly returnTo: string;
  /** The page behind “Cancel”. */
  readonly back: string;
  readonly isForConsole: boolean;
  /** The next page accepts the password. Otherwise it requires a passkey. */
  readonly asksForPassword: boolean;
  /** Two-step sign-in is on: a code is required too. */
  readonly asksForCode: boolean;
  readonly hasPasskeys: boolean;
  readonly form: ShownForm;
}

export function confirmPasswordPage(props: ConfirmPasswordProps): Page {
  const { frame, returnTo, back, isForConsole, asksForPassword, asksForCode, hasPasskeys, form } = props;
  if (!asksForPassword) return passkeyPage(props);
  const { email } = frame.session.user;
  const asked = asksForCode ? "your password and a code" : "your password";
  const either = hasPasskeys ? `${asked}, or use a passkey,` : asked;
  return (
    <ConfirmPage
      frame={frame}
      place={null}
      title={title}
      text={`${
        isForConsole
          ? "The operator console asks again from time to time, and before changes."
          : "The next step changes who can sign in to your account."
      } Enter ${either} to continue.`}
      facts={[{ label: "Signed in as", value: email }]}
      action={path}
      submit="Continue"
      tone="primary"
      back={{ href: back, label: "Back" }}
      hidden={{ return_to: returnTo }}
      error={form.message}
      after={hasPasskeys && <OwnPasskey {...props} />}
    >
      <UsernameField email={email} />
      <PasswordField label="Password" name="password" error={form.fields["password"]} autofocus />
      {asksForCode && (
        <>
          <TextField
            label="Code"
            name="code"
            value=""
            hint="Six digits from your authenticator app, or a recovery code."
            error={form.fields["code"]}
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

/** For accounts whose password is not enough for the next page. */
function passkeyPage(props: ConfirmPasswordProps): Page {
  const { frame, back, form } = props;
  return (
    <PortalPage title={title} frame={frame} place={null}>
      <div class="ask">
        <PageHead
          back={{ href: back, label: "Back" }}
          title={title}
          text="The operator console requires more than your password. Use a passkey to continue."
        />
        <Notice tone="error" text={form.message} />
        <Card title="Passkey">
          <Facts facts={[{ label: "Signed in as", value: frame.session.user.email }]} />
          <OwnPasskey {...props} />
          <PasskeysMissing />
        </Card>
      </div>
    </PortalPage>
  );
}

function OwnPasskey({ frame, returnTo, asksForPassword }: ConfirmPasswordProps) {
  return (
    <PasskeyForm
      assets={frame.assets}
      ceremony="get"
      options="/api/portal/account/proof/passkey/options"
      action={`${path}/passkey`}
      returnTo={returnTo}
      tone={asksForPassword ? "plain" : "primary"}
      submit="Use a passkey"
    />
  );
}
