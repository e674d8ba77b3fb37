// The page behind a link that confirms an email address. The link alone confirms nothing: it also takes a session of the same
// account, and a click on the button, because spam filters open links too.
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Form } from "../components/form.tsx";
import { GateCard, GateHint } from "../components/gate_card.tsx";
import type { GateFrame, Page } from "../layout.tsx";

interface Link {
  readonly purpose: "verify_email" | "change_email";
  /** The address that the link confirms. */
  readonly email: string;
}

export type VerifyEmailState =
  /** The link is for the signed-in account. */
  | Link & { readonly state: "ready"; readonly token: string }
  /** No one is signed in. `signInHref` is the sign-in page, which returns here. */
  | Link & { readonly state: "signed-out"; readonly signInHref: string }
  /** Someone else is signed in, as `signedInAs`. */
  | Link & { readonly state: "other"; readonly signedInAs: string }
  /** The link doesn't work. `confirmed`: the confirmed address of the signed-in account. */
  | { readonly state: "dead"; readonly isSignedIn: boolean; readonly confirmed: string | null }
  /** Another account uses the address by now. */
  | { readonly state: "taken" };

export function verifyEmailPage({ frame, ...link }: { frame: GateFrame } & VerifyEmailState): Page {
  switch (link.state) {
    case "ready":
      return <ReadyPage frame={frame} {...link} />;
    case "signed-out":
      return <SignedOutPage frame={frame} {...link} />;
    case "other": {
      const text = (
        <>
          You're signed in as <strong>{link.signedInAs}</strong>. To confirm{" "}
          <strong>{link.email}</strong>, sign in to the account it belongs to and open the link again.
        </>
      );
      return (
        <GateCard frame={frame} title="This link is for another account" text={text}>
          <Form action="/sign-out">
            <SubmitButton tone="plain">Sign out</SubmitButton>
          </Form>
          <GateHint text="Not yours?" {...account} />
        </GateCard>
      );
    }
    case "dead": {
      const { isSignedIn, confirmed } = link;
      const text = confirmed === null
        ? "It may have expired, been used already, or been replaced by a newer one."
        : (
          <>
            It has expired or was used already. Your email address <strong>{confirmed}</strong> is confirmed.
          </>
        );
      return (
        <GateCard frame={frame} title="This link doesn't work" text={text}>
          <ButtonLink tone={confirmed === null ? "primary" : "plain"} href={account.href}>
            {isSignedIn ? account.label : "Sign in to request a new one"}
          </ButtonLink>
        </GateCard>
      );
    }
    case "taken": {
      const text = "Another account now uses it. Your account keeps its current address.";
      return (
        <GateCard frame={frame} title="This email address is taken" text={text}>
          <ButtonLink href={account.href}>{account.label}</ButtonLink>
        </GateCard>
      );
    }
  }
}

const account = { href: "/portal/account", label: "Go to your account" };

function ReadyPage({ frame, purpose, email, token }: { frame: GateFrame; token: string } & Link) {
  const address = <strong>{email}</strong>;
  return (
    <GateCard
      frame={frame}
      title={purpose === "verify_email" ? "Confirm your email address" : "Change your email address"}
      text={purpose === "verify_email"
        ? <>Confirm that {address} is yours. Other sessions of this account will be signed out.</>
        : <>You'll sign in with {address} and receive our emails there.</>}
      action="/verify-email"
      hidden={{ token }}
    >
      <SubmitButton>
        <span class="cut">Confirm {email}</span>
      </SubmitButton>
      <GateHint text="Not now?" {...account} />
    </GateCard>
  );
}

function SignedOutPage(
  { frame, purpose, email, signInHref }: { frame: GateFrame; signInHref: string } & Link,
) {
  const address = <strong>{email}</strong>;
  return (
    <GateCard
      frame={frame}
      title="Sign in to confirm"
      text={purpose === "verify_email"
        ? <>Sign in to your account to confirm that {address} is yours.</>
        : <>Sign in to your account to change its email address to {address}.</>}
    >
      <ButtonLink tone="primary" href={signInHref}>Sign in to confirm</ButtonLink>
      <p class="small muted">
        {purpose === "verify_email"
          ? (
            <>
              Didn't create this account? You can ignore this, or{" "}
              <a href="/forgot-password">reset its password</a>{" "}
              to take it over and remove everyone else's access.
            </>
          )
          : "Don't have an account here? Someone mistyped their new address. You can ignore this."}
      </p>
    </GateCard>
  );
}
