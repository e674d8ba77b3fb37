// A reminder on every page until the person confirms their email address.
import { SubmitButton } from "../components/button.tsx";
import { Form } from "../components/form.tsx";
import { Icon } from "../components/icon.tsx";

/** The reminder. It has no status role, so that it isn't read out on each page. */
export function UnverifiedNotice({ email }: { email: string }) {
  return (
    <div class="note plain">
      <div>
        <Icon name="mail" />
        <p>
          Confirm your email address: open the link that we sent to <strong>{email}</strong>.
        </p>
      </div>
      <Form action="/portal/account/verification">
        <SubmitButton tone="plain">Resend email</SubmitButton>
      </Form>
    </div>
  );
}
