// The pages of the link that turns off two-step sign-in: one requests it, one is behind it. The link alone turns nothing off: it
// requires a session of the same account and a press of the button, because email scanners open links too.
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { type FormErrors, PasswordField, UsernameField } from "../components/field.tsx";
import { type GateFrame, GatePage, type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { turnOffLinkPath, twoStepLink } from "./two_step.tsx";

/** @returns The page that requests the link. */
export function turnOffLinkPage({ frame, rejected }: { frame: PortalFrame; rejected?: FormErrors }): Page {
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
        back={twoStepLink}
        error={rejected?.message ?? null}
      >
        <UsernameField email={email} />
        <PasswordField label="Password" name="password" error={rejected?.fields["password"]} autofocus />
      </ConfirmPanel>
    </PortalPage>
  );
}

/** What the page behind the link shows. */
export type TurnOffByLinkState =
  | { readonly state: "ready"; readonly token: string; readonly email: string }
  /** No one, or someone else, is signed in. */
  | { readonly state: "other" }
  | { readonly state: "dead" };

/** @returns The page behind the link. */
export function turnOffByLinkPage({ frame, ...link }: { frame: GateFrame } & TurnOffByLinkState): Page {
  const title = "Turn off two-step sign-in";
  if (link.state === "ready") {
    return (
      <GatePage title={title} frame={frame}>
        <form class="card" method="post" action="/turn-off-two-step">
          <div>
            <h1>Turn off two-step sign-in?</h1>
            <p class="muted">
              Your password alone will sign you in to{" "}
              <strong>{link.email}</strong>. Your recovery codes stop working; passkeys stay.
            </p>
          </div>
          <input type="hidden" name="token" value={link.token} />
          <SubmitButton tone="destroy">Turn off</SubmitButton>
          <p class="small muted">
            Not now? <a href={twoStepLink.href}>Back to two-step sign-in</a>
          </p>
        </form>
      </GatePage>
    );
  }
  const { heading, text, href, label } = link.state === "dead"
    ? {
      heading: "This link no longer works",
      text: "It was used, a newer one replaced it, or it is more than an hour old.",
      href: turnOffLinkPath,
      label: "Get a new link",
    }
    : {
      heading: "Open this link where you are signed in",
      text: "The link works only in a browser that is signed in to the account it was sent to.",
      href: "/sign-in",
      label: "Go to sign-in",
    };
  return (
    <GatePage title={title} frame={frame}>
      <div class="card">
        <div>
          <h1>{heading}</h1>
          <p class="muted">{text}</p>
        </div>
        <ButtonLink href={href}>{label}</ButtonLink>
      </div>
    </GatePage>
  );
}
