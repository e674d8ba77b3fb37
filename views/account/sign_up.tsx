// The page that makes an account and its organization, or says plainly that nobody can.
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { PasswordField, TextField } from "../components/field.tsx";
import { Notice } from "../components/notice.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";
import { withReturnTo } from "../../domain/sign_in/return_to.ts";
import { emailCharactersMax, nameCharactersMax } from "../../domain/limits.ts";

/** What the page shows. */
export interface SignUpPageProps {
  readonly frame: GateFrame;
  /** What was typed; `returnTo` is where to go afterwards, checked by the caller. */
  readonly values: {
    readonly name: string;
    readonly email: string;
    readonly organizationName: string;
    readonly returnTo: string | null;
  };
  /** What is wrong with the whole form. */
  readonly error: string | null;
  /** What is wrong with one field, by its name. */
  readonly fieldErrors: Readonly<Record<string, string>>;
  /** Where strangers cannot sign up: whether people who were invited can. */
  readonly byInvitation?: boolean;
}

/** @returns The sign-up page; where strangers cannot sign up, a page that says so and has no form. */
export function signUpPage(props: SignUpPageProps): Page {
  if (!props.frame.signUpOpen) return closedPage(props.frame, props.byInvitation ?? false);
  const { frame, values, error, fieldErrors } = props;
  return (
    <GatePage title="Create an account" frame={frame}>
      <form class="card" method="post" action="/sign-up">
        <div>
          <h1>Create an account</h1>
          <p class="muted small">One account for every product here.</p>
        </div>
        {error === null ? null : <Notice tone="refused" text={error} />}
        {values.returnTo === null ? null : <input type="hidden" name="return_to" value={values.returnTo} />}
        <TextField
          label="Your name"
          name="name"
          value={values.name}
          error={fieldErrors["name"]}
          autocomplete="name"
          required
          maxlength={nameCharactersMax}
          autofocus={Object.keys(fieldErrors).length === 0}
        />
        <TextField
          label="E-mail"
          name="email"
          type="email"
          value={values.email}
          error={fieldErrors["email"]}
          autocomplete="username"
          required
          maxlength={emailCharactersMax}
        />
        <PasswordField label="Password" name="password" isNew error={fieldErrors["password"]} />
        <TextField
          label="Organization (optional)"
          name="organizationName"
          value={values.organizationName}
          hint="Your API keys and usage belong to it. Left empty, it carries your name."
          error={fieldErrors["organizationName"]}
          autocomplete="organization"
          maxlength={nameCharactersMax}
        />
        <SubmitButton>Create account</SubmitButton>
        <p class="small muted">
          You have an account? <a href={withReturnTo("/sign-in", values.returnTo)}>Sign in</a>
        </p>
      </form>
    </GatePage>
  );
}

function closedPage(frame: GateFrame, byInvitation: boolean): Page {
  const title = byInvitation ? "By invitation only" : "Sign-up is closed";
  return (
    <GatePage title={title} frame={frame}>
      <div class="card">
        <div>
          <h1>{title}</h1>
          <p class="muted">
            {byInvitation
              ? "You cannot create an account on your own here. Ask somebody who uses this service to invite you, then open the link in the mail that you get."
              : "You cannot create an account yourself. Ask the people who run this service for one."}
          </p>
        </div>
        <ButtonLink href="/sign-in">Sign in instead</ButtonLink>
      </div>
    </GatePage>
  );
}
