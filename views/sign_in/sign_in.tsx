// The page that signs people in, and the page between signing in and a product on another origin.
import { emailCharactersMax } from "../../domain/limits.ts";
import { withReturnTo } from "../../domain/sign_in/return_to.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { type FormErrors, PasswordField, TextField } from "../components/field.tsx";
import { Notice, type NoticeProps } from "../components/notice.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";
import { PasskeyForm } from "./passkey_form.tsx";

/** What the page shows. */
export interface SignInPageProps {
  readonly frame: GateFrame;
  /** What was typed. `returnTo`: the next page, checked by the caller. */
  readonly values: { readonly email: string; readonly returnTo: string | null };
  /** What just happened. */
  readonly notice?: NoticeProps | undefined;
  readonly rejected?: FormErrors | undefined;
}

/** @returns The sign-in page. */
export function signInPage({ frame, values, notice, rejected }: SignInPageProps): Page {
  const { email, returnTo } = values;
  return (
    <GatePage title="Sign in" frame={frame}>
      <form class="card" method="post" action="/sign-in">
        <div>
          <h1>Sign in</h1>
          <p class="muted small">One account for all products.</p>
        </div>
        {notice && <Notice {...notice} />}
        {rejected?.message ? <Notice tone="refused" text={rejected.message} /> : null}
        {returnTo === null ? null : <input type="hidden" name="return_to" value={returnTo} />}
        <TextField
          label="Email"
          name="email"
          type="email"
          value={email}
          error={rejected?.fields["email"]}
          autocomplete="username"
          required
          maxlength={emailCharactersMax}
          autofocus={email === ""}
        />
        <PasswordField
          label="Password"
          name="password"
          error={rejected?.fields["password"]}
          autofocus={email !== "" && rejected?.fields["email"] === undefined}
        />
        <SubmitButton>Sign in</SubmitButton>
        <p class="small">
          <a href="/forgot-password">Forgot your password?</a>
        </p>
        {frame.signUpOpen && (
          <p class="small muted">
            New here? <a href={withReturnTo("/sign-up", returnTo)}>Create an account</a>
          </p>
        )}
      </form>
      <PasskeyForm
        assets={frame.assets}
        ceremony="get"
        options="/api/auth/sign-in/passkey/options"
        action="/sign-in/passkey"
        returnTo={returnTo}
        submit="Sign in with a passkey"
      />
    </GatePage>
  );
}

/**
 * @param props `href`: a URL on another origin, checked by the caller. `host`: its host, with the port.
 * @returns The page that goes on to a product by itself, without scripts; with a link for browsers that don't.
 */
export function continuePage(
  { frame, href, host }: { frame: GateFrame; href: string; host: string },
): Page {
  return (
    <GatePage title="Signed in" frame={frame} goOnTo={href}>
      <div class="card">
        <div>
          <h1>You're signed in</h1>
          <p class="muted">
            Continuing to <bdi>{host}</bdi>.
          </p>
        </div>
        <ButtonLink tone="primary" href={href}>Continue</ButtonLink>
      </div>
    </GatePage>
  );
}
