// The page that signs people in, and the page between signing in and a product on another origin.
import { withReturnTo } from "../../domain/people/return_to.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { EmailField, PasswordField } from "../components/field.tsx";
import { returnField, type ShownForm, typed } from "../components/form.tsx";
import { GateCard, GateHint } from "../components/gate_card.tsx";
import { Notice, type NoticeProps } from "../components/notice.tsx";
import type { GateFrame, Page } from "../layout.tsx";
import { ProviderButtons, type ProviderOffer } from "./provider_buttons.tsx";
import { PasskeyForm } from "./passkey_form.tsx";

export function signInPage({ frame, returnTo, providers, notice, email: hint = "", form }: {
  frame: GateFrame;
  providers: ProviderOffer;
  /** The next page, checked by the caller. */
  returnTo: string | null;
  notice?: NoticeProps | undefined;
  /** An application's guess of the address. */
  email?: string;
  form: ShownForm;
}): Page {
  const email = typed(form, "email", hint);
  return (
    <GateCard
      frame={frame}
      title="Sign in"
      text="One account for all products."
      action="/sign-in"
      hidden={returnField(returnTo)}
      error={form.message}
      first={
        <>
          {notice && <Notice {...notice} />}
          <PasskeyForm
            assets={frame.assets}
            ceremony="get"
            options="/api/auth/sign-in/passkey/options"
            action="/sign-in/passkey"
            returnTo={returnTo}
            submit="Sign in with a passkey"
          />
        </>
      }
    >
      <ProviderButtons {...providers} query={returnField(returnTo)} />
      <EmailField label="Email" {...email} autocomplete="username" autofocus={email.value === ""} />
      <PasswordField
        label="Password"
        name="password"
        error={form.fields["password"]}
        autofocus={email.value !== "" && email.error === undefined}
      />
      <SubmitButton>Sign in</SubmitButton>
      {providers.hasSingleSignOn && (
        <button type="submit" class="button plain" name="single_sign_on" value="1" formnovalidate>
          Continue with single sign-on
        </button>
      )}
      <p class="small">
        <a href="/forgot-password">Forgot your password?</a>
      </p>
      {frame.signUpOpen && (
        <GateHint text="New here?" href={withReturnTo("/sign-up", returnTo)} label="Create an account" />
      )}
    </GateCard>
  );
}

/** Leads on to an organization's provider. A redirect after a form would be blocked by the policy for forms. */
export function singleSignOnPage(
  { frame, href, name }: { frame: GateFrame; href: string; name: string },
): Page {
  const text = (
    <>
      People with this email address sign in with the single sign-on of <bdi>{name}</bdi>.
    </>
  );
  return (
    <GateCard frame={frame} title="Single sign-on" text={text} goOnTo={href}>
      <ButtonLink tone="primary" href={href}>Continue</ButtonLink>
    </GateCard>
  );
}

/**
 * Redirects to a product without scripts. The link is for browsers that don't redirect.
 *
 * @param props `href`: a URL on another origin, checked by the caller. `host`: its host, with the port.
 */
export function continuePage({ frame, href, host }: { frame: GateFrame; href: string; host: string }): Page {
  const text = (
    <>
      Continuing to <bdi>{host}</bdi>.
    </>
  );
  return (
    <GateCard frame={frame} title="You're signed in" text={text} goOnTo={href}>
      <ButtonLink tone="primary" href={href}>Continue</ButtonLink>
    </GateCard>
  );
}
