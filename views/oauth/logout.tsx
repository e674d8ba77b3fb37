// The pages of an application that signs someone out: the question, the way back, and why there is none.
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { GateCard } from "../components/gate_card.tsx";
import type { GateFrame, Page } from "../layout.tsx";

export const confirmSignOutPath = "/sign-out/confirm";

/** Asks, because any site can lead here. */
export function confirmSignOutPage({ frame, email, clientName, hidden }: {
  frame: GateFrame;
  email: string;
  /** Null if the request names no application. */
  clientName: string | null;
  hidden: Readonly<Record<string, string>>;
}): Page {
  const text = (
    <>
      {clientName === null ? "An application" : <bdi>{clientName}</bdi>}{" "}
      asks to sign you out. This ends the session of <bdi>{email}</bdi>{" "}
      here and in the applications that use it.
    </>
  );
  return (
    <GateCard frame={frame} title="Sign out?" text={text} action={confirmSignOutPath} hidden={hidden}>
      <SubmitButton>Sign out</SubmitButton>
      <ButtonLink href="/portal">Stay signed in</ButtonLink>
    </GateCard>
  );
}

/** Leads back to the application. A redirect after a form would be blocked by the policy for forms. */
export function signedOutPage({ frame, href, host }: { frame: GateFrame; href: string; host: string }): Page {
  const text = (
    <>
      Going back to <bdi>{host}</bdi>.
    </>
  );
  return (
    <GateCard frame={frame} title="You're signed out" text={text} goOnTo={href}>
      <ButtonLink tone="primary" href={href}>Continue</ButtonLink>
    </GateCard>
  );
}
