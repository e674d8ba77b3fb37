// The page behind a link that confirms an address. The link alone confirms nothing: it takes a session of the same account,
// and a press of the button, since programs that check mails open links too.
import type { Child } from "hono/jsx";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";

/** A link that works. */
interface Link {
  readonly purpose: "verify_email" | "change_email";
  /** The address that it confirms. */
  readonly email: string;
}

/** What the page shows, by how things stand. */
export type VerifyEmailState =
  /** The link is of the person who is signed in. */
  | Link & { readonly state: "ready"; readonly token: string }
  /** Nobody is signed in. `signInHref` leads to sign-in and back here. */
  | Link & { readonly state: "signed-out"; readonly signInHref: string }
  /** Somebody else is signed in, with the address `signedInAs`. */
  | Link & { readonly state: "other"; readonly signedInAs: string }
  /** The link does not work. `confirmed`: the proved address of whoever is signed in. */
  | { readonly state: "dead"; readonly isSignedIn: boolean; readonly confirmed: string | null }
  /** Another account has the address by now. */
  | { readonly state: "taken" };

/** @returns The page for a link that confirms an address. */
export function verifyEmailPage({ frame, ...shown }: { frame: GateFrame } & VerifyEmailState): Page {
  switch (shown.state) {
    case "ready":
      return <ReadyPage frame={frame} {...shown} />;
    case "signed-out":
      return <SignedOutPage frame={frame} {...shown} />;
    case "other":
      return <OtherAccountPage frame={frame} {...shown} />;
    case "dead":
      return <DeadLinkPage frame={frame} {...shown} />;
    case "taken":
      return (
        <Answer
          frame={frame}
          title="This address is taken"
          words="Another account has it by now. Yours keeps its own."
        >
          <ButtonLink href="/portal/account">Go to your account</ButtonLink>
        </Answer>
      );
  }
}

function ReadyPage({ frame, purpose, email, token }: { frame: GateFrame; token: string } & Link) {
  const title = purpose === "verify_email" ? "Confirm your address" : "Change your address";
  return (
    <GatePage title={title} frame={frame}>
      <form class="card" method="post" action="/verify-email">
        <div>
          <h1>{title}</h1>
          <p class="muted">
            {purpose === "verify_email"
              ? (
                <>
                  One press, and we know that mails to <strong>{email}</strong>{" "}
                  reach you. Wherever else this account is signed in, it is signed out.
                </>
              )
              : (
                <>
                  From then on you sign in with <strong>{email}</strong>, and our mails go there.
                </>
              )}
          </p>
        </div>
        <input type="hidden" name="token" value={token} />
        <SubmitButton>
          <span class="cut">Confirm {email}</span>
        </SubmitButton>
        <p class="small muted">
          Not now? <a href="/portal/account">Go to your account</a>
        </p>
      </form>
    </GatePage>
  );
}

function SignedOutPage(
  { frame, purpose, email, signInHref }: { frame: GateFrame; signInHref: string } & Link,
) {
  return (
    <Answer
      frame={frame}
      title="Sign in to confirm"
      words={purpose === "verify_email"
        ? (
          <>
            Sign in to your account to confirm that <strong>{email}</strong> is yours.
          </>
        )
        : (
          <>
            Sign in to your account to change its address to <strong>{email}</strong>.
          </>
        )}
    >
      <ButtonLink tone="primary" href={signInHref}>Sign in to confirm</ButtonLink>
      {purpose === "verify_email"
        ? (
          <p class="small muted">
            You never made this account? Then somebody else used your address. Leave it, or{" "}
            <a href="/forgot-password">reset the password</a>: that makes the account yours, and ends
            everything in it.
          </p>
        )
        : (
          <p class="small muted">
            You have no account here? Then somebody mistyped their new address. Nothing happens if you leave
            it.
          </p>
        )}
    </Answer>
  );
}

function OtherAccountPage({ frame, email, signedInAs }: { frame: GateFrame; signedInAs: string } & Link) {
  return (
    <Answer
      frame={frame}
      title="This link is for another account"
      words={
        <>
          You are signed in as <strong>{signedInAs}</strong>. To confirm{" "}
          <strong>{email}</strong>, sign out, sign in to the account that it belongs to, and open the link
          again.
        </>
      }
    >
      <form method="post" action="/sign-out">
        <SubmitButton tone="plain">Sign out</SubmitButton>
      </form>
      <p class="small muted">
        Not yours? <a href="/portal/account">Go to your account</a>
      </p>
    </Answer>
  );
}

function DeadLinkPage(
  { frame, isSignedIn, confirmed }: { frame: GateFrame; isSignedIn: boolean; confirmed: string | null },
) {
  const words = confirmed === null
    ? "It was used already, a newer one took its place, or it is older than a day."
    : (
      <>
        It was used already, or is too old. Your address, <strong>{confirmed}</strong>, is confirmed.
      </>
    );
  return (
    <Answer frame={frame} title="This link does not work" words={words}>
      <ButtonLink tone={confirmed === null ? "primary" : "plain"} href="/portal/account">
        {isSignedIn ? "Go to your account" : "Sign in to ask for a new one"}
      </ButtonLink>
    </Answer>
  );
}

function Answer(
  { frame, title, words, children }: { frame: GateFrame; title: string; words: Child; children: Child },
): Page {
  return (
    <GatePage title={title} frame={frame}>
      <div class="card">
        <div>
          <h1>{title}</h1>
          <p class="muted">{words}</p>
        </div>
        {children}
      </div>
    </GatePage>
  );
}
