// The page that asks before an account is deleted.
import { emailCharactersMax } from "../../domain/limits.ts";
import { accountBack } from "./account.tsx";
import { ButtonLink } from "../components/button.tsx";
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { TextField } from "../components/field.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { namesInWords } from "../text/names.ts";

/** What the page shows. */
export interface DeleteAccountPageProps {
  readonly frame: PortalFrame;
  /** Organizations in which nobody else is: they end with the account. */
  readonly ending: readonly string[];
  /** Organizations that would be left without an owner: while there are any, the account stays. */
  readonly ownerless: readonly string[];
  /** The address as typed. */
  readonly value: string;
  readonly error: string | null;
  readonly fieldErrors: Readonly<Record<string, string>>;
}

/** @returns The page that asks whether to delete the account, or says what must be done before. */
export function deleteAccountPage(props: DeleteAccountPageProps): Page {
  const { frame, ending, ownerless, value, error, fieldErrors } = props;
  const { email } = frame.session.user;
  if (ownerless.length > 0) return ownerlessPage(frame, ownerless);
  return (
    <PortalPage title="Delete your account" frame={frame} place="account">
      <ConfirmPanel
        title="Delete your account?"
        text="You are signed out everywhere, and the account cannot be brought back."
        facts={[{ label: "Account", value: email }]}
        action="/portal/account/delete"
        submit="Delete my account"
        tone="destroy"
        back={accountBack}
        error={error}
      >
        <ul class="list">
          <li>
            <strong>API keys that you made</strong>{" "}
            are revoked, in every organization. Programs that use them are refused from their next request on.
          </li>
          {ending.length === 0 ? null : (
            <li>
              <strong>{namesInWords(ending)}</strong> {ending.length === 1 ? "is" : "are"}{" "}
              deleted, with all keys and usage: nobody else belongs to {ending.length === 1 ? "it" : "them"}.
            </li>
          )}
          <li>You leave every other organization. What was recorded there stays.</li>
        </ul>
        <TextField
          label="Type your address to confirm"
          name="email"
          type="email"
          value={value}
          error={fieldErrors["email"]}
          autocomplete="off"
          required
          maxlength={emailCharactersMax}
        />
      </ConfirmPanel>
    </PortalPage>
  );
}

function ownerlessPage(frame: PortalFrame, ownerless: readonly string[]): Page {
  return (
    <PortalPage title="Delete your account" frame={frame} place="account">
      <div class="fault">
        <div>
          <h1>Somebody must own it first</h1>
          <p class="muted">
            You are the last owner of{" "}
            {namesInWords(ownerless)}, and others belong to it. Make one of them an owner, or delete the
            organization; then you can delete your account.
          </p>
        </div>
        <ButtonLink href={accountBack.href}>Back to your account</ButtonLink>
      </div>
    </PortalPage>
  );
}
