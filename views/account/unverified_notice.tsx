// What people with an address that they have not proved see on every page, until they do.
import { SubmitButton } from "../components/button.tsx";
import { Icon } from "../components/icon.tsx";

/** Asks for a look into the mailbox; not a status, so that it is not read out on each page. */
export function UnverifiedNotice({ email }: { email: string }) {
  return (
    <div class="note plain">
      <div>
        <Icon name="mail" />
        <p>
          Confirm your address: we sent a mail to <strong>{email}</strong>. Open the link in it.
        </p>
      </div>
      <form method="post" action="/portal/account/verification">
        <SubmitButton tone="plain">Send it again</SubmitButton>
      </form>
    </div>
  );
}
