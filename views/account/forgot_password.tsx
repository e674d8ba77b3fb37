// The page that sends a link for a new password. It says the same whether or not there is an account.
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { TextField } from "../components/field.tsx";
import { Notice } from "../components/notice.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";
import { emailCharactersMax } from "../../domain/limits.ts";

/** What the page shows. */
export interface ForgotPasswordPageProps {
  readonly frame: GateFrame;
  /** Whether this service can send a mail at all. */
  readonly hasMail: boolean;
  /** What was typed. */
  readonly email: string;
  /** The form was sent, and a mail is on its way if there is an account. */
  readonly isSent: boolean;
  readonly error: string | null;
  readonly fieldErrors: Readonly<Record<string, string>>;
}

/** @returns The page that asks for the address, and after that the same page with what happens now. */
export function forgotPasswordPage(props: ForgotPasswordPageProps): Page {
  const { frame, email, isSent, error, fieldErrors } = props;
  if (!props.hasMail) return noMailPage(frame);
  const title = isSent ? "Look into your mail" : "Forgot your password?";
  return (
    <GatePage title={title} frame={frame}>
      <form class="card" method="post" action="/forgot-password">
        <div>
          <h1>{title}</h1>
          {isSent ? null : (
            <p class="muted small">
              Enter the address of your account. We send you a link with which you choose a new password.
            </p>
          )}
        </div>
        {isSent
          ? (
            <>
              <Notice
                tone="done"
                text={`If ${email} has an account, a link is on its way there. It works for an hour.`}
              />
              <p class="muted small">
                Nothing came? Look in your spam folder, check the address, then send it once more. Only the
                newest link works.
              </p>
            </>
          )
          : null}
        {error === null ? null : <Notice tone="refused" text={error} />}
        <TextField
          label="E-mail"
          name="email"
          type="email"
          value={email}
          error={fieldErrors["email"]}
          autocomplete="username"
          required
          maxlength={emailCharactersMax}
          autofocus={!isSent}
        />
        <SubmitButton tone={isSent ? "plain" : "primary"}>
          {isSent ? "Send it once more" : "Send the link"}
        </SubmitButton>
        <p class="small muted">
          You know it after all? <a href="/sign-in">Sign in</a>
        </p>
      </form>
    </GatePage>
  );
}

function noMailPage(frame: GateFrame): Page {
  return (
    <GatePage title="Forgot your password?" frame={frame}>
      <div class="card">
        <div>
          <h1>Forgot your password?</h1>
          <p class="muted">
            This service sends no mail, so it cannot send you a link. Ask the people who run it: they can give
            you one.
          </p>
        </div>
        <ButtonLink href="/sign-in">Back to sign-in</ButtonLink>
      </div>
    </GatePage>
  );
}
