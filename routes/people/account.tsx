// The pages of the user's own account: the name, the email address, preferences, emails, and deleting the account.
import type { SessionActor } from "../../domain/access/actor.ts";
import { canonicalEmail } from "../../domain/outbox/email.ts";
import { validationError } from "../../domain/errors.ts";
import { portalReturnTo } from "../../domain/people/return_to.ts";
import {
  changeEmailChoices,
  changePreferences,
  deleteAccount,
  findPendingEmailChange,
  getEmailChoices,
  previewAccountDeletion,
  renameUser,
  requestEmailChange,
  requestEmailVerification,
} from "../../services/people/mod.ts";
import { Badge } from "../../views/components/badge.tsx";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { EmailField, NameField } from "../../views/components/field.tsx";
import { Form } from "../../views/components/form.tsx";
import type { PageForm } from "../../views/components/form_page.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { type PortalFrame, PortalPage } from "../../views/layout.tsx";
import { readFormBody } from "../body.ts";
import { clearSessionCookies } from "../cookies.ts";
import type { App } from "../env.ts";
import { check } from "../schemas/check.ts";
import { userNameSchema } from "./schemas/people.ts";
import { changePreferencesSchema, PreferencesCard } from "./preferences.tsx";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, mountPageOfForms, ownPages, type Pages } from "../portal/noun_pages.ts";
import { type PortalParts, redirect } from "../portal/page.ts";

const path = "/portal/account";
const paths = {
  name: `${path}/name`,
  preferences: `${path}/preferences`,
  verification: `${path}/verification`,
  emails: `${path}/emails`,
  email: `${path}/email`,
  delete: `${path}/delete`,
};
const flashes = {
  "renamed": "Name saved.",
  "preferences": "Preferences saved.",
  "limits-on": "You'll get emails about limits.",
  "limits-off": "You won't get emails about limits.",
  "unusedKeys-on": "You'll get emails about unused API keys.",
  "unusedKeys-off": "You won't get emails about unused API keys.",
  "mail-sent": "Email sent. Earlier links no longer work.",
  "asked": "We sent a link to your new email address.",
  "confirmed": "Your email address is confirmed.",
  "changed": "Your email address has been changed. Sign in with it from now on.",
};

export function accountPages(app: App, parts: PortalParts): void {
  const { config, services } = parts;
  const pages = ownPages(app, parts, { place: "account", back: { href: path, label: "Account" } });
  mountPageOfForms(app, pages, {
    path,
    async show(c, session, formOf) {
      const [pendingEmail, emails, { ownerless }] = await Promise.all([
        findPendingEmailChange(services, session),
        getEmailChoices(services, session),
        previewAccountDeletion(services, session),
      ]);
      return accountPage(formOf, { pendingEmail, emails, ownerless, flash: flashOf(c, flashes) });
    },
    forms: {
      async [paths.name](_c, session, { name = "" }) {
        await renameUser(services, session, check(userNameSchema, { name }, "body").name);
        return `${path}?done=renamed`;
      },
      async [paths.preferences](c, session, { timezone = "", locale = "", theme }) {
        const chosen = { timezone: timezone || null, locale: locale || null, theme };
        await changePreferences(services, session, check(changePreferencesSchema, chosen, "body"));
        return redirect(c, `${path}?done=preferences`, { frameChanges: true });
      },
      async [paths.verification](_c, session, { return_to }) {
        const target = new URL(portalReturnTo(return_to, config.baseUrl) ?? path, config.baseUrl);
        if (!session.user.emailVerified) {
          await requestEmailVerification(services, session);
          target.searchParams.set("done", "mail-sent");
        }
        return target.pathname + target.search + target.hash;
      },
    },
  });

  pages.post(paths.emails, async (c, session) => {
    const fields = await readFormBody(c);
    const name = "unusedKeys" in fields ? "unusedKeys" : "limits";
    const isOn = fields[name] === "on";
    await changeEmailChoices(services, session, { [name]: isOn });
    return redirect(c, `${path}?done=${name}-${isOn ? "on" : "off"}`);
  });

  sensitivePages(pages, parts);
}

function sensitivePages(pages: Pages<SessionActor>, { config, services }: PortalParts): void {
  mountFormPage(pages, {
    path: paths.email,
    show: (_c, { field, ...form }, { user }) => (
      <ConfirmPage
        {...form}
        title="Change your email address"
        text="We'll send a link to the new address. Open it while you're signed in here to complete the change. We'll also notify your current address."
        facts={[{ label: "Current address", value: user.email }]}
        submit="Send link"
        tone="primary"
      >
        <EmailField label="New address" {...field("email")} autocomplete="email" autofocus />
      </ConfirmPage>
    ),
    async submit(_c, session, { email = "" }) {
      await requestEmailChange(services, session, email);
      return `${path}?done=asked`;
    },
  });

  mountFormPage(pages, {
    path: paths.delete,
    show: async (_c, form, session) =>
      deleteAccountPage(form, await previewAccountDeletion(services, session)),
    async submit(c, session, { email = "" }) {
      if (canonicalEmail(email) !== session.user.email) {
        throw validationError([{ path: "email", message: "Enter the email address of your account." }]);
      }
      await deleteAccount(services, session);
      clearSessionCookies(c, config);
      return redirect(c, "/sign-in?deleted=1", { frameChanges: true });
    },
  });
}

function accountPage(
  formOf: (action: string) => PageForm,
  { pendingEmail, emails, ownerless, flash }: {
    /** The requested new email address, while its link is valid. */
    pendingEmail: string | null;
    emails: Awaited<ReturnType<typeof getEmailChoices>>;
    ownerless: readonly string[];
    flash: string | null;
  },
) {
  const { frame, place, action, error, field } = formOf(paths.name);
  return (
    <PortalPage title="Account" frame={frame} place={place}>
      <PageHead title="Account" text="Your name and email address, across all products." />
      <Notice tone="done" text={flash} />
      <Card title="Name">
        <Form class="parts" action={action} error={error}>
          <div class="row one">
            <NameField
              label="Your name"
              {...field("name", frame.session.user.name)}
              hint="Visible to members of your organizations."
              autocomplete="name"
            />
            <SubmitButton tone="plain">Save name</SubmitButton>
          </div>
        </Form>
      </Card>
      <Card title="Email address">
        <EmailAddress {...formOf(paths.verification)} pendingEmail={pendingEmail} />
      </Card>
      <PreferencesCard {...formOf(paths.preferences)} />
      {frame.sendsMail && (
        <>
          <Card title="Emails about limits">
            <LimitEmails isOn={emails.limits} session={frame.session} />
          </Card>
          <Card title="Emails about unused keys">
            <UnusedKeyEmails isOn={emails.unusedKeys} />
          </Card>
        </>
      )}
      <Card title="Security">
        <div class="between">
          <p class="muted">How you sign in, and your sessions.</p>
          <ButtonLink href="/portal/account/security">Manage security</ButtonLink>
        </div>
      </Card>
      <Card title="Applications">
        <div class="between">
          <p class="muted">Applications that you gave access to your account.</p>
          <ButtonLink href="/portal/account/applications">Manage applications</ButtonLink>
        </div>
      </Card>
      <Card title="Delete account">
        {ownerless.length > 0 ? <p class="muted">{ownerlessText(ownerless)}</p> : (
          <div class="between">
            <p class="muted">Permanently deletes your account. You can review what will be deleted first.</p>
            <ButtonLink tone="plain-destroy" href={paths.delete}>Delete account</ButtonLink>
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
          ? " As an operator, you also get one when any organization hits a hard or cutoff limit."
          : " The same applies to any organization that hits a hard or cutoff limit.")}
      </p>
      <Form action={paths.emails} hidden={{ limits: isOn ? "off" : "on" }}>
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
      <Form action={paths.emails} hidden={{ unusedKeys: isOn ? "off" : "on" }}>
        <SubmitButton tone="plain">{isOn ? "Turn off these emails" : "Turn on these emails"}</SubmitButton>
      </Form>
    </div>
  );
}

function EmailAddress({ frame, action, error, pendingEmail }: PageForm & { pendingEmail: string | null }) {
  const { email, emailVerified } = frame.session.user;
  return (
    <>
      <Notice tone="error" text={error} />
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
              <Form action={action}>
                <SubmitButton tone="plain">Resend email</SubmitButton>
              </Form>
            )}
            <ButtonLink href={paths.email}>Change address</ButtonLink>
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

/** `ending`: organizations without other members, which are deleted with the account. `ownerless`: those that prevent the deletion. */
function deleteAccountPage(
  { field, ...form }: PageForm,
  { ending, ownerless }: { ending: readonly string[]; ownerless: readonly string[] },
) {
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
