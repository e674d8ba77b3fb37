// The pages for a forgotten password. They don't reveal whether an account exists.
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { EmailField, PasswordField } from "../components/field.tsx";
import { type ShownForm, typed } from "../components/form.tsx";
import { GateCard, GateHint } from "../components/gate_card.tsx";
import { Notice } from "../components/notice.tsx";
import type { GateFrame, Page } from "../layout.tsx";

export function forgotPasswordPage({ frame, hasMail, form, isSent = false }: {
  frame: GateFrame;
  hasMail: boolean;
  form: ShownForm;
  isSent?: boolean;
}): Page {
  if (!hasMail) {
    const text =
      "This service doesn't send email. Ask the people who run it for a link to reset your password.";
    return (
      <GateCard frame={frame} title="Forgot your password?" text={text}>
        <ButtonLink href="/sign-in">Back to sign-in</ButtonLink>
      </GateCard>
    );
  }
  const email = typed(form, "email");
  return (
    <GateCard
      frame={frame}
      title={isSent ? "Check your email" : "Forgot your password?"}
      text={isSent
        ? undefined
        : "Enter your email address, and we'll send you a link to choose a new password."}
      action="/forgot-password"
      error={form.message}
    >
      {isSent && (
        <>
          <Notice
            tone="done"
            text={`If ${email.value} has an account, we've sent a link to it. The link works for 1 hour.`}
          />
          <p class="muted small">
            Didn't get it? Check your spam folder and the address, then send it again. Only the latest link
            works.
          </p>
        </>
      )}
      <EmailField label="Email" {...email} autocomplete="username" autofocus={!isSent} />
      <SubmitButton tone={isSent ? "plain" : "primary"}>{isSent ? "Send again" : "Send link"}</SubmitButton>
      <GateHint text="Remembered it?" href="/sign-in" label="Sign in" />
    </GateCard>
  );
}

/** Opening the page doesn't use up the link, because spam filters open links too. */
export function resetPasswordPage({ frame, token, takesBack, form }: {
  frame: GateFrame;
  /** From the link; null if it doesn't work. */
  token: string | null;
  /** The email address was never confirmed, so the reset removes all other access. */
  takesBack: boolean;
  form: ShownForm;
}): Page {
  if (token === null) {
    const text =
      "It may have expired, been used already, or been replaced by a newer one. Your password hasn't changed.";
    return (
      <GateCard frame={frame} title="This link doesn't work" text={text}>
        <ButtonLink tone="primary" href="/forgot-password">Request a new link</ButtonLink>
        <GateHint text="Know your password?" href="/sign-in" label="Sign in" />
      </GateCard>
    );
  }
  return (
    <GateCard
      frame={frame}
      title="Choose a new password"
      text="You'll be signed out everywhere. Then sign in with the new password."
      action="/reset-password"
      hidden={{ token }}
      error={form.message}
    >
      {takesBack && <TakeBackWarning />}
      <PasswordField
        label="New password"
        name="password"
        isNew
        error={form.fields["password"]}
        autofocus
      />
      <SubmitButton>Reset password</SubmitButton>
    </GateCard>
  );
}

/** People who created the account themselves can confirm their address instead. */
function TakeBackWarning() {
  return (
    <>
      <p class="small">
        This email address was never confirmed, so someone else may have created this account. When you set a
        password, we also:
      </p>
      <ul class="list small">
        <li>revoke all API keys and invitations in its organizations,</li>
        <li>remove all other members, webhooks and alerts from them,</li>
        <li>turn off two-step sign-in, and remove passkeys and connected providers.</li>
      </ul>
      <p class="small muted">
        Did you create it yourself? <a href="/portal/account">Sign in and confirm your address</a>{" "}
        first to keep all of this.
      </p>
    </>
  );
}
