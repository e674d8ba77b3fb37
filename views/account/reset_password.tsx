// The page behind the link for a new password. Looking at it uses nothing up: programs that check mails look too.
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { PasswordField } from "../components/field.tsx";
import { Notice } from "../components/notice.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";

/** What the page shows. */
export interface ResetPasswordPageProps {
  readonly frame: GateFrame;
  /** From the link; null when it does not work. */
  readonly token: string | null;
  /** The address was never confirmed: the reset removes everything that was set up in the account. */
  readonly takesBack: boolean;
  readonly error: string | null;
  readonly fieldErrors: Readonly<Record<string, string>>;
}

/** @returns The page that asks for a new password, or says that the link does not work. */
export function resetPasswordPage(
  { frame, token, takesBack, error, fieldErrors }: ResetPasswordPageProps,
): Page {
  if (token === null) return deadLinkPage(frame);
  return (
    <GatePage title="Choose a new password" frame={frame}>
      <form class="card" method="post" action="/reset-password">
        <div>
          <h1>Choose a new password</h1>
          <p class="muted small">
            Wherever you are signed in now, you are signed out. Then you sign in with the new password.
          </p>
        </div>
        {takesBack ? <TakeBackWarning /> : null}
        {error === null ? null : <Notice tone="refused" text={error} />}
        <input type="hidden" name="token" value={token} />
        <PasswordField
          label="New password"
          name="password"
          isNew
          error={fieldErrors["password"]}
          autofocus
        />
        <SubmitButton>Set the new password</SubmitButton>
      </form>
    </GatePage>
  );
}

/** People who never confirmed their own address can still do so instead. */
function TakeBackWarning() {
  return (
    <>
      <p class="small">
        This email address was never confirmed, so someone else may have created this account. When you set a
        password, we also:
      </p>
      <ul class="list small">
        <li>revoke all API keys and invitations in its organizations,</li>
        <li>remove all other members from them,</li>
        <li>turn off two-step sign-in and passkeys.</li>
      </ul>
      <p class="small muted">
        Did you create it yourself? <a href="/portal/account">Sign in and confirm your address</a>{" "}
        first to keep all of this.
      </p>
    </>
  );
}

function deadLinkPage(frame: GateFrame): Page {
  return (
    <GatePage title="This link does not work" frame={frame}>
      <div class="card">
        <div>
          <h1>This link does not work</h1>
          <p class="muted">
            It was used already, a newer one took its place, or it is older than an hour. Your password is as
            you last set it.
          </p>
        </div>
        <ButtonLink tone="primary" href="/forgot-password">Ask for a new link</ButtonLink>
        <p class="small muted">
          You know your password? <a href="/sign-in">Sign in</a>
        </p>
      </div>
    </GatePage>
  );
}
