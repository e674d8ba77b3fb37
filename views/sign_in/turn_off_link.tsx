// The pages of the link that turns two-step sign-in off: one asks for it, one is behind it. The link alone turns nothing off: it
// takes a session of the same account, and a press of the button, since programs that check mails open links too.
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { PasswordField, UsernameField } from "../components/field.tsx";
import { turnOffLinkPath } from "./confirm_password.tsx";
import { type GateFrame, GatePage, type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { twoStepPath } from "./two_step.tsx";

/** What the page that asks for the link shows. */
export interface TurnOffLinkPageProps {
  readonly frame: PortalFrame;
  readonly error: string | null;
  readonly fieldErrors: Readonly<Record<string, string>>;
}

/** @returns The page that asks for the link. */
export function turnOffLinkPage({ frame, error, fieldErrors }: TurnOffLinkPageProps): Page {
  const { email } = frame.session.user;
  return (
    <PortalPage title="Turn off two-step sign-in by email" frame={frame} place="security">
      <ConfirmPanel
        title="Lost your device and your recovery codes?"
        text="Enter your password, and we'll email you a link that turns off two-step sign-in. It works for an hour, in a browser where you are signed in."
        facts={[{ label: "The link goes to", value: <bdi>{email}</bdi> }]}
        action={turnOffLinkPath}
        submit="Send link"
        tone="primary"
        back={{ href: twoStepPath, label: "Two-step sign-in" }}
        error={error}
      >
        <UsernameField email={email} />
        <PasswordField label="Password" name="password" error={fieldErrors["password"]} autofocus />
      </ConfirmPanel>
    </PortalPage>
  );
}

/** What the page behind the link shows, by how things stand. */
export type TurnOffByLinkState =
  | { readonly state: "ready"; readonly token: string; readonly email: string }
  /** No one, or someone else, is signed in. */
  | { readonly state: "other" }
  | { readonly state: "dead" };

/** @returns The page behind the link. */
export function turnOffByLinkPage({ frame, ...shown }: { frame: GateFrame } & TurnOffByLinkState): Page {
  if (shown.state === "ready") {
    return (
      <GatePage title="Turn off two-step sign-in" frame={frame}>
        <form class="card" method="post" action="/turn-off-two-step">
          <div>
            <h1>Turn off two-step sign-in?</h1>
            <p class="muted">
              Your password alone will sign you in to{" "}
              <strong>{shown.email}</strong>. Your recovery codes stop working; passkeys stay.
            </p>
          </div>
          <input type="hidden" name="token" value={shown.token} />
          <SubmitButton tone="destroy">Turn off</SubmitButton>
          <p class="small muted">
            Not now? <a href={twoStepPath}>Back to two-step sign-in</a>
          </p>
        </form>
      </GatePage>
    );
  }
  const isDead = shown.state === "dead";
  return (
    <GatePage title="Turn off two-step sign-in" frame={frame}>
      <div class="card">
        <div>
          <h1>{isDead ? "This link no longer works" : "Open this link where you are signed in"}</h1>
          <p class="muted">
            {isDead
              ? "It was used, a newer one replaced it, or it is more than an hour old."
              : "The link works only in a browser that is signed in to the account it was sent to."}
          </p>
        </div>
        <ButtonLink href={isDead ? turnOffLinkPath : "/sign-in"}>
          {isDead ? "Get a new link" : "Go to sign-in"}
        </ButtonLink>
      </div>
    </GatePage>
  );
}
