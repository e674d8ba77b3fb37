// The page of one's own account: the name, the address, and the way out.
import { emailCharactersMax, nameCharactersMax } from "../../domain/limits.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { TextField } from "../components/field.tsx";
import { Notice } from "../components/notice.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { namesInWords } from "../text/names.ts";

/** What the page shows. */
export interface AccountPageProps {
  readonly frame: PortalFrame;
  /** The name as typed, at first the person's. */
  readonly name: string;
  readonly fieldErrors: Readonly<Record<string, string>>;
  /** What is wrong with the form for the name. */
  readonly error: string | null;
  /** Why the mail that confirms the address could not be sent again. */
  readonly mailError: string | null;
  /** The address that the account changes to when its link is opened, or null. */
  readonly pendingEmail: string | null;
  /** Organizations that would be left without an owner. */
  readonly ownerless: readonly string[];
  /** What was just done, in one sentence. */
  readonly flash: string | null;
}

/** Where the pages about the account come from. */
export const accountBack = { href: "/portal/account", label: "Account" };

/** @returns The page of the account. */
export function accountPage(props: AccountPageProps): Page {
  const { frame, name, fieldErrors, error, flash } = props;
  return (
    <PortalPage title="Account" frame={frame} place="account">
      <div class="head">
        <h1>Account</h1>
        <p class="muted">
          One account for every product here: your name, your address, and what keeps it yours.
        </p>
      </div>
      {flash === null ? null : <Notice tone="done" text={flash} />}
      <Card title="Name">
        <form class="parts" method="post" action="/portal/account/name" hx-disable="find button">
          {error === null ? null : <Notice tone="refused" text={error} />}
          <div class="row one">
            <TextField
              label="Your name"
              name="name"
              value={name}
              hint="Members of your organizations see it."
              error={fieldErrors["name"]}
              autocomplete="name"
              required
              maxlength={nameCharactersMax}
            />
            <SubmitButton tone="plain">Save name</SubmitButton>
          </div>
        </form>
      </Card>
      <Card title="E-mail address">
        <Address {...props} />
      </Card>
      <Card title="Security">
        <div class="between">
          <p class="muted">Your password, two-step sign-in, passkeys, and where you are signed in.</p>
          <ButtonLink href="/portal/account/security">Open security</ButtonLink>
        </div>
      </Card>
      <Card title="Delete the account">
        <Deletion ownerless={props.ownerless} />
      </Card>
    </PortalPage>
  );
}

function Address({ frame, mailError, pendingEmail }: AccountPageProps) {
  const { email, emailVerified } = frame.session.user;
  return (
    <>
      {mailError === null ? null : <Notice tone="refused" text={mailError} />}
      <div class="between">
        <div class="said">
          <p class="address">
            <span class="name">{email}</span>{" "}
            {emailVerified ? <Badge tone="on">Confirmed</Badge> : <Badge tone="soon">Not confirmed</Badge>}
          </p>
          <p class="muted small">{addressWords(emailVerified, frame.sendsMail)}</p>
        </div>
        {frame.sendsMail
          ? (
            <div class="buttons">
              {emailVerified
                ? null
                : (
                  <form method="post" action="/portal/account/verification" hx-disable="find button">
                    <SubmitButton tone="plain">Send the mail again</SubmitButton>
                  </form>
                )}
              <ButtonLink href="/portal/account/email">Change address</ButtonLink>
            </div>
          )
          : null}
      </div>
      {pendingEmail === null ? null : (
        <div class="aside-note">
          <p>
            You asked to change it to{" "}
            <strong>{pendingEmail}</strong>. Open the link in the mail that we sent there, signed in here, and
            it changes.
          </p>
        </div>
      )}
    </>
  );
}

function addressWords(isConfirmed: boolean, hasMail: boolean): string {
  if (!hasMail) {
    return `This service sends no mail. To ${
      isConfirmed ? "change" : "confirm or change"
    } your address, ask the people who run it.`;
  }
  return isConfirmed
    ? "You sign in with it, and our mails go there."
    : "We sent you a mail with a link that confirms it. Until then you cannot accept invitations.";
}

function Deletion({ ownerless }: { ownerless: readonly string[] }) {
  if (ownerless.length > 0) {
    return (
      <p class="muted">
        You are the last owner of{" "}
        {namesInWords(ownerless)}, and others belong to it. Make someone else an owner there first, or delete
        the organization; then you can delete your account.
      </p>
    );
  }
  return (
    <div class="between">
      <p class="muted">It is gone at once and for good. You see what goes with it before anything happens.</p>
      <ButtonLink tone="plain-destroy" href="/portal/account/delete">Delete the account</ButtonLink>
    </div>
  );
}

/** What the page that changes the address shows. */
export interface ChangeEmailPageProps {
  readonly frame: PortalFrame;
  /** The new address as typed. */
  readonly value: string;
  readonly error: string | null;
  readonly fieldErrors: Readonly<Record<string, string>>;
}

/** @returns The page that asks for another address. */
export function changeEmailPage({ frame, value, error, fieldErrors }: ChangeEmailPageProps): Page {
  return (
    <PortalPage title="Change your address" frame={frame} place="account">
      <ConfirmPanel
        title="Change your address"
        text="We send a link to the new address. It changes when you open the link, signed in here. The current one gets a mail about it, too."
        facts={[{ label: "Current address", value: frame.session.user.email }]}
        action="/portal/account/email"
        submit="Send the link"
        tone="primary"
        back={accountBack}
        error={error}
      >
        <TextField
          label="New address"
          name="email"
          type="email"
          value={value}
          error={fieldErrors["email"]}
          autocomplete="email"
          required
          maxlength={emailCharactersMax}
          autofocus
        />
      </ConfirmPanel>
    </PortalPage>
  );
}
