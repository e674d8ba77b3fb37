// The page that asks for the password, a passkey or a provider again, before changes of who can sign in to an account, and in the console.
import type { OfferedProvider } from "../../domain/people/identity_provider.ts";
import { turnOffLinkPath } from "../../domain/people/return_to.ts";
import { Card } from "../components/card.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { Facts } from "../components/facts.tsx";
import { PasswordField, TextField, UsernameField } from "../components/field.tsx";
import type { ShownForm } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { ProviderForm } from "./identities.tsx";
import { PasskeyForm, PasskeysMissing } from "./passkey_form.tsx";
import { codeCharactersMax } from "./second_step.tsx";

const path = "/portal/confirm-password";
const title = "Confirm it's you";

interface ConfirmPasswordProps {
  readonly frame: PortalFrame;
  /** The next page, checked by the caller. */
  readonly returnTo: string;
  /** The page behind “Cancel”. */
  readonly back: string;
  readonly isForConsole: boolean;
  /** An application asks again. */
  readonly isForApplication: boolean;
  /** The person has a password, and the next page accepts it. */
  readonly asksForPassword: boolean;
  readonly hasPassword: boolean;
  /** The person's connected providers. */
  readonly providers: readonly OfferedProvider[];
  /** Two-step sign-in is on: a code is required too. */
  readonly asksForCode: boolean;
  readonly hasPasskeys: boolean;
  readonly form: ShownForm;
}

export function confirmPasswordPage(props: ConfirmPasswordProps): Page {
  const { frame, returnTo, back, asksForPassword, asksForCode, hasPasskeys, form } = props;
  if (!asksForPassword) return withoutPasswordPage(props);
  const { email } = frame.session.user;
  const asked = asksForCode ? "your password and a code" : "your password";
  const others = [...(hasPasskeys ? ["a passkey"] : []), ...props.providers.map(({ name }) => name)];
  const either = others.length === 0 ? asked : `${asked}, or use ${listed(others)},`;
  return (
    <ConfirmPage
      frame={frame}
      place={null}
      title={title}
      text={`${reason(props)} Enter ${either} to continue.`}
      facts={[{ label: "Signed in as", value: email }]}
      action={path}
      submit="Continue"
      tone="primary"
      back={{ href: back, label: "Back" }}
      hidden={{ return_to: returnTo }}
      error={form.message}
      after={
        <>
          {hasPasskeys && <OwnPasskey {...props} />}
          <OwnProviders {...props} />
        </>
      }
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

function reason(
  { isForConsole, isForApplication }: Pick<ConfirmPasswordProps, "isForConsole" | "isForApplication">,
): string {
  if (isForApplication) return "The application requires you to sign in again.";
  return isForConsole
    ? "The operator console asks again from time to time, and before changes."
    : "The next step changes who can sign in to your account.";
}

const listed = (names: readonly string[]) => new Intl.ListFormat("en", { type: "disjunction" }).format(names);

/** For accounts without a password, and those whose password is not enough for the next page. */
function withoutPasswordPage(props: ConfirmPasswordProps): Page {
  const { frame, back, form, hasPassword, hasPasskeys, providers } = props;
  return (
    <PortalPage title={title} frame={frame} place={null}>
      <div class="ask">
        <PageHead
          back={{ href: back, label: "Back" }}
          title={title}
          text={hasPassword
            ? "The operator console requires more than your password. Use a passkey to continue."
            : `${reason(props)} ${props.isForApplication ? "" : "Sign in again to continue."}`}
        />
        <Notice tone="error" text={form.message ?? form.fields["password"] ?? null} />
        <Card title={hasPassword ? "Passkey" : "Sign in again"} flush>
          <Facts facts={[{ label: "Signed in as", value: frame.session.user.email }]} />
          <div class="body ruled">
            <OwnProviders {...props} />
            {hasPasskeys && <OwnPasskey {...props} />}
            {hasPasskeys && <PasskeysMissing />}
            {!hasPasskeys && providers.length === 0 && (
              <p class="small muted">
                You have no password, passkey or provider to sign in with.{" "}
                <a href="/forgot-password">Set a password by email</a>.
              </p>
            )}
          </div>
        </Card>
      </div>
    </PortalPage>
  );
}

function OwnProviders({ providers, returnTo }: ConfirmPasswordProps) {
  return (
    <>
      {providers.map((provider) => (
        <ProviderForm
          action={`${path}/provider`}
          provider={provider}
          returnTo={returnTo}
          verb="Confirm with"
        />
      ))}
    </>
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
