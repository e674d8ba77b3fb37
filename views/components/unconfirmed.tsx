// What an unconfirmed email address blocks, said where it does.
import type { PortalFrame } from "../layout.tsx";
import { SubmitButton } from "./button.tsx";
import { Form } from "./form.tsx";

/** A sentence and the button that unblocks it. Nothing for people with a confirmed address, and where no emails are sent. */
export function Unconfirmed({ frame: { session, sendsMail, viewed }, text }: {
  frame: PortalFrame;
  text: string;
}) {
  if (session.user.emailVerified || !sendsMail || viewed !== null) return null;
  return (
    <div class="aside-note between">
      <p>{text}</p>
      <Form action="/portal/account/verification">
        <SubmitButton tone="plain">Resend email</SubmitButton>
      </Form>
    </div>
  );
}
