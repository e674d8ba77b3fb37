// The page of a visit to a provider that failed: what happened, and other ways to sign in.
import { withReturnTo } from "../../domain/sign_in/return_to.ts";
import { ButtonLink } from "../components/button.tsx";
import { GateCard } from "../components/gate_card.tsx";
import type { GateFrame, Page } from "../layout.tsx";

export interface FailedVisit {
  readonly title: string;
  readonly message: string;
  /** Where to try again; null if that would fail again. */
  readonly retry: string | null;
  /** Where someone who is signed in goes back to; null for someone who isn't. */
  readonly back: string | null;
  /** The next page offers to connect the provider. */
  readonly isToConnect: boolean;
  /** The next page, checked by the caller; null for the default one. */
  readonly returnTo: string | null;
}

export function failedVisitPage(
  { frame, title, message, retry, back, isToConnect, returnTo }: FailedVisit & { frame: GateFrame },
): Page {
  const href = withReturnTo("/sign-in", returnTo);
  return (
    <GateCard frame={frame} title={title} text={message}>
      {retry !== null && <ButtonLink tone="primary" href={retry}>Try again</ButtonLink>}
      <ButtonLink tone={retry === null ? "primary" : "plain"} href={back ?? href}>
        {back !== null ? "Go back" : isToConnect ? "Sign in to connect" : "Sign in another way"}
      </ButtonLink>
    </GateCard>
  );
}
