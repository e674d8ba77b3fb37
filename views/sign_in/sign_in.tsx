// The page that signs people in, and the page between signing in and a product on another origin.
import { withReturnTo } from "../../domain/sign_in/return_to.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { EmailField, PasswordField } from "../components/field.tsx";
import { Form, returnField, type ShownForm, typed } from "../components/form.tsx";
import { Notice, type NoticeProps } from "../components/notice.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";
import { PasskeyForm } from "./passkey_form.tsx";

export function signInPage({ frame, returnTo, notice, form }: {
  frame: GateFrame;
  /** The next page, checked by the caller. */
  returnTo: string | null;
  notice?: NoticeProps | undefined;
  form: ShownForm;
}): Page {
  const email = typed(form, "email");
  return (
    <GatePage title="Sign in" frame={frame}>
      <Form class="card" action="/sign-in" hidden={returnField(returnTo)}>
        <div>
          <h1>Sign in</h1>
          <p class="muted small">One account for all products.</p>
        </div>
        {notice && <Notice {...notice} />}
        <Notice tone="refused" text={form.message} />
        <EmailField label="Email" {...email} autocomplete="username" autofocus={email.value === ""} />
        <PasswordField
          label="Password"
          name="password"
          error={form.fields["password"]}
          autofocus={email.value !== "" && email.error === undefined}
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
      </Form>
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
 * Redirects to a product without scripts. The link is for browsers that don't redirect.
 *
 * @param props `href`: a URL on another origin, checked by the caller. `host`: its host, with the port.
 */
export function continuePage({ frame, href, host }: { frame: GateFrame; href: string; host: string }): Page {
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
