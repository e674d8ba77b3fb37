// The pages before a visit to an organization's provider, and after one that failed: what happened, and other ways to sign in.
import { withReturnTo } from "../../domain/people/return_to.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Form } from "../components/form.tsx";
import { GateCard } from "../components/gate_card.tsx";
import type { GateFrame, Page } from "../layout.tsx";

/** A form that begins a visit. */
export interface ProviderForm {
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
}

/** Asks before an organization's provider signs someone in: another site may have opened this page. */
export function continueToProviderPage(
  { frame, form, host, name }: { frame: GateFrame; form: ProviderForm; host: string; name: string },
): Page {
  const text = (
    <>
      You'll sign in with the single sign-on of <bdi>{name}</bdi>.
    </>
  );
  return (
    <GateCard frame={frame} title="Single sign-on" text={text} {...form}>
      <SubmitButton>
        <span>
          Continue to <bdi>{host}</bdi>
        </span>
      </SubmitButton>
    </GateCard>
  );
}

export interface FailedVisit {
  readonly title: string;
  readonly message: string;
  /** The link that tries again; null if that would fail again. */
  readonly retry: string | null;
  /** The form that signs out and visits the provider again, for someone who is signed in to another account. */
  readonly switching: ProviderForm | null;
  /** The link back for someone who is signed in; null for someone who isn't. */
  readonly back: string | null;
  /** The next page offers to connect the provider. */
  readonly isToConnect: boolean;
  /** The next page, checked by the caller; null for the default one. */
  readonly returnTo: string | null;
}

export function failedVisitPage(
  { frame, title, message, retry, switching, back, isToConnect, returnTo }: FailedVisit & {
    frame: GateFrame;
  },
): Page {
  const href = withReturnTo("/sign-in", returnTo);
  if (switching !== null) {
    return (
      <GateCard frame={frame} title={title} text={message}>
        <Form {...switching}>
          <SubmitButton>Sign out and continue</SubmitButton>
        </Form>
        <ButtonLink href="/portal">Stay signed in</ButtonLink>
      </GateCard>
    );
  }
  return (
    <GateCard frame={frame} title={title} text={message}>
      {retry !== null && <ButtonLink tone="primary" href={retry}>Try again</ButtonLink>}
      <ButtonLink tone={retry === null ? "primary" : "plain"} href={back ?? href}>
        {back !== null ? "Go back" : isToConnect ? "Sign in to connect" : "Sign in another way"}
      </ButtonLink>
    </GateCard>
  );
}
