// The pages of the user's own account: the name, the email address, and deleting the account.
import type { EmailChoices } from "../../domain/outbox/mail.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { EmailField, NameField } from "../components/field.tsx";
import { Form, type ShownForm, typed } from "../components/form.tsx";
import type { PageForm } from "../components/form_page.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PreferencesCard } from "./preferences.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

interface AccountPageProps {
  readonly frame: PortalFrame;
  readonly nameForm?: ShownForm | undefined;
  readonly preferencesForm?: ShownForm | undefined;
  readonly mailError: string | null;
  /** The requested new email address, while its link is valid. */
  readonly pendingEmail: string | null;
  readonly emails: EmailChoices;
  readonly ownerless: readonly string[];
  readonly flash: string | null;
}

export function accountPage(props: AccountPageProps): Page {
  const { frame, nameForm, preferencesForm, ownerless, flash } = props;
  return (
    <PortalPage title="Account" frame={frame} place="account">
      <PageHead title="Account" text="Your name and email address, across all products." />
      <Notice tone="done" text={flash} />
      <Card title="Name">
        <Form class="parts" action="/portal/account/name" error={nameForm?.message}>
          <div class="row one">
            <NameField
              label="Your name"
              {...typed(nameForm, "name", frame.session.user.name)}
              hint="Visible to members of your organizations."
              autocomplete="name"
            />
            <SubmitButton tone="plain">Save name</SubmitButton>
          </div>
        </Form>
      </Card>
      <Card title="Email address">
        <EmailAddress {...props} />
      </Card>
      <PreferencesCard frame={frame} form={preferencesForm} />
      {frame.sendsMail && (
        <>
          <Card title="Emails about limits">
            <LimitEmails isOn={props.emails.limits} session={frame.session} />
          </Card>
          <Card title="Emails about unused keys">
            <UnusedKeyEmails isOn={props.emails.unusedKeys} />
          </Card>
        </>
      )}
      <Card title="Security">
        <div class="between">
          <p class="muted">How you sign in, and your sessions.</p>
          <ButtonLink href="/portal/account/security">Manage security</ButtonLink>
        </div>
      </Card>
      <Card title="Delete account">
        {ownerless.length > 0 ? <p class="muted">{ownerlessText(ownerless)}</p> : (
          <div class="between">
            <p class="muted">Permanently deletes your account. You can review what will be deleted first.</p>
            <ButtonLink tone="plain-destroy" href="/portal/account/delete">Delete account</ButtonLink>
          </div>
        )}
      </Card>
    </PortalPage>
  );
}

function LimitEmails({ isOn, session }: { isOn: boolean; session: PortalFrame["session"] }) {
  const { isOperator, user } = session;
  return (
    <div class="between">
      <p class="muted">
        {isOn && !user.emailVerified && "These emails start when you confirm your email address. "}
        {isOn
          ? `You${
            user.emailVerified ? "" : "'ll"
          } get an email when an organization that you own or administer has used 80% of a limit, or all of it.`
          : "You don't get emails when an organization that you own or administer nears or reaches a limit."}
        {isOperator && (isOn
          ? " As an operator, you also get one when any organization hits a hard limit."
          : " The same applies to any organization that hits a hard limit.")}
      </p>
      <Form action="/portal/account/emails" hidden={{ limits: isOn ? "off" : "on" }}>
        <SubmitButton tone="plain">{isOn ? "Turn off emails" : "Turn on emails"}</SubmitButton>
      </Form>
    </div>
  );
}

function UnusedKeyEmails({ isOn }: { isOn: boolean }) {
  return (
    <div class="between">
      <p class="muted">
        {isOn
          ? "Once a month, you get an email if API keys of an organization that you own or administer weren't used for 90 days."
          : "You don't get emails about API keys that weren't used for 90 days."}
      </p>
      <Form action="/portal/account/emails" hidden={{ unusedKeys: isOn ? "off" : "on" }}>
        <SubmitButton tone="plain">{isOn ? "Turn off these emails" : "Turn on these emails"}</SubmitButton>
      </Form>
    </div>
  );
}

function EmailAddress({ frame, mailError, pendingEmail }: AccountPageProps) {
  const { email, emailVerified } = frame.session.user;
  return (
    <>
      <Notice tone="error" text={mailError} />
      <div class="between">
        <div class="said">
          <p class="address">
            <span class="name">{email}</span>{" "}
            {emailVerified ? <Badge tone="on">Confirmed</Badge> : <Badge tone="soon">Not confirmed</Badge>}
          </p>
          <p class="muted small">{addressText(emailVerified, frame.sendsMail)}</p>
        </div>
        {frame.sendsMail && (
          <div class="buttons">
            {!emailVerified && (
              <Form action="/portal/account/verification">
                <SubmitButton tone="plain">Resend email</SubmitButton>
              </Form>
            )}
            <ButtonLink href="/portal/account/email">Change address</ButtonLink>
          </div>
        )}
      </div>
      {pendingEmail && (
        <div class="aside-note">
          <p>
            We sent a link to{" "}
            <strong>{pendingEmail}</strong>. Open it while you're signed in here to complete the change.
          </p>
        </div>
      )}
    </>
  );
}

function addressText(isConfirmed: boolean, hasMail: boolean): string {
  if (!hasMail) {
    const act = isConfirmed ? "change" : "confirm or change";
    return `This service doesn't send email. Ask the people who run it to ${act} your address.`;
  }
  return isConfirmed
    ? "You sign in with this address and receive our emails there."
    : "We sent you a link to confirm it. Until you do, you can't accept invitations and get no emails about limits, you can " +
      "send few invitations, and products may keep you out.";
}

function ownerlessText(ownerless: readonly string[]): string {
  return `You're the only owner of ${namesInWords(ownerless)}, which other people belong to. ` +
    "Make someone else an owner, or delete the organization, before you delete your account.";
}

export function changeEmailPage({ field, ...form }: PageForm): Page {
  return (
    <ConfirmPage
      {...form}
      title="Change your email address"
      text="We'll send a link to the new address. Open it while you're signed in here to complete the change. We'll also notify your current address."
      facts={[{ label: "Current address", value: form.frame.session.user.email }]}
      submit="Send link"
      tone="primary"
    >
      <EmailField label="New address" {...field("email")} autocomplete="email" autofocus />
    </ConfirmPage>
  );
}

/** `ending`: organizations without other members, which are deleted with the account. `ownerless`: those that prevent the deletion. */
export function deleteAccountPage(
  { field, ...form }: PageForm,
  { ending, ownerless }: { ending: readonly string[]; ownerless: readonly string[] },
): Page {
  if (ownerless.length > 0) {
    return (
      <PortalPage title="Delete your account" frame={form.frame} place={form.place}>
        <div class="fault">
          <div>
            <h1>Your organization needs another owner</h1>
            <p class="muted">{ownerlessText(ownerless)}</p>
          </div>
          <ButtonLink href={form.back.href}>Back to your account</ButtonLink>
        </div>
      </PortalPage>
    );
  }
  return (
    <ConfirmPage
      {...form}
      title="Delete your account"
      heading="Delete your account?"
      text="This permanently deletes your account and signs you out everywhere. It can't be undone."
      facts={[{ label: "Account", value: form.frame.session.user.email }]}
      submit="Delete account"
    >
      <ul class="list">
        <li>
          <strong>API keys you created</strong>{" "}
          are revoked in every organization. Requests with these keys will fail immediately.
        </li>
        {ending.length > 0 && (
          <li>
            <strong>{namesInWords(ending)}</strong> {ending.length === 1 ? "is" : "are"}{" "}
            deleted, including all keys and usage, because no one else belongs to{" "}
            {ending.length === 1 ? "it" : "them"}.
          </li>
        )}
        <li>You leave all other organizations. Their usage records stay.</li>
      </ul>
      <EmailField label="Type your email address to confirm" {...field("email")} />
    </ConfirmPage>
  );
}

/** Returns `“Northwind”`, `“Northwind” and “Tiles”`, or `“A”, “B”, and “C”`. */
function namesInWords(names: readonly string[]): string {
  return new Intl.ListFormat("en").format(names.map((name) => `“${name}”`));
}
