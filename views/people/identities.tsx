// Connected accounts at identity providers: their card, the page that disconnects one, and buttons that open a provider.
import { type Identity, identityName } from "../../domain/people/identity.ts";
import type { OfferedProvider } from "../../domain/people/identity_provider.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { PasswordField, UsernameField } from "../components/field.tsx";
import { HiddenFields, returnField } from "../components/form.tsx";
import type { PageForm } from "../components/form_page.tsx";
import { GateCard } from "../components/gate_card.tsx";
import { type ItemColumn, ItemTable } from "../components/item_table.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import type { GateFrame, Page } from "../layout.tsx";

export const identitiesPath = "/portal/account/identities";

/** `linkable`: providers to connect. Nothing is shown without any of both. */
export function IdentitiesCard({ identities, linkable, now }: {
  identities: readonly Identity[];
  linkable: readonly OfferedProvider[];
  now: number;
}) {
  if (identities.length + linkable.length === 0) return null;
  return (
    <Card title="Ways to sign in" flush>
      {identities.length > 0 && (
        <ItemTable
          label="Connected providers"
          items={identities}
          columns={identityColumns(now)}
          actions={(identity) => [{
            href: `${identitiesPath}/${encodeURIComponent(identity.id)}/remove`,
            label: "Disconnect",
            tone: "quiet-destroy",
            about: identity.email ?? identityName(identity),
          }]}
        />
      )}
      {linkable.length > 0 && (
        <div class={identities.length > 0 ? "body ruled" : "body"}>
          <p class="muted">Connect an account that you have elsewhere, and sign in with it.</p>
          <div class="buttons">
            {linkable.map((provider) => (
              <ProviderForm action={`${identitiesPath}/link`} provider={provider} verb="Connect" />
            ))}
          </div>
        </div>
      )}
    </Card>
  );
}

/** The columns of a list of identities, for their owner and for operators. */
export function identityColumns(now: number): ItemColumn<Identity>[] {
  return [
    {
      title: "Provider",
      in: "title",
      cell: (identity) => (
        <>
          <span class="name">
            <bdi>{identityName(identity)}</bdi>
          </span>
          {identity.email && <div class="muted tiny">{identity.email}</div>}
          {identity.provider === null && <div class="muted tiny">No longer signs in here</div>}
        </>
      ),
    },
    { title: "Connected", cell: ({ createdAt }) => <DayTime at={createdAt} now={now} /> },
    {
      title: "Last used",
      cell: ({ lastUsedAt }) => (
        <span>{lastUsedAt === null ? "Never" : <RelativeTime at={lastUsedAt} now={now} />}</span>
      ),
    },
  ];
}

/** A button that opens a provider. The browser sends the form itself: htmx can't follow it to another origin. */
export function ProviderForm({ action, provider, returnTo, verb }: {
  action: string;
  provider: OfferedProvider;
  returnTo?: string;
  verb: string;
}) {
  return (
    <form method="post" action={action} hx-boost="false">
      <HiddenFields values={{ provider: provider.slug, ...returnField(returnTo) }} />
      <SubmitButton tone="plain">
        <span>
          {verb} <bdi>{provider.name}</bdi>
        </span>
      </SubmitButton>
    </form>
  );
}

/** Redirects to a provider after a form: Chromium applies `form-action` to redirects of forms. The link is for browsers that don't. */
export function providerPage({ frame, url }: { frame: GateFrame; url: URL }): Page {
  const text = (
    <>
      Continuing to <bdi>{url.host}</bdi>.
    </>
  );
  return (
    <GateCard frame={frame} title="Continue to your provider" text={text} goOnTo={url.href}>
      <ButtonLink tone="primary" href={url.href}>Continue</ButtonLink>
    </GateCard>
  );
}

export function removeIdentityPage(form: PageForm, identity: Identity): Page {
  const { createdAt, email } = identity;
  return (
    <ConfirmPage
      {...form}
      title="Disconnect a provider"
      heading="Disconnect {name}?"
      name={identityName(identity)}
      text="You can no longer sign in with it. Existing sessions stay. You can connect it again."
      facts={[
        { label: "Account", value: email ?? "Unknown" },
        { label: "Connected", value: <DayTime at={createdAt} now={form.frame.now} /> },
      ]}
      submit="Disconnect"
    />
  );
}

export function firstPasswordPage({ fields, ...form }: PageForm): Page {
  const { email } = form.frame.session.user;
  return (
    <ConfirmPage
      {...form}
      title="Set a password"
      text="You can then also sign in with your email address and this password. You stay signed in here and are signed out everywhere else."
      facts={[{ label: "Account", value: email }]}
      submit="Set password"
      tone="primary"
    >
      <UsernameField email={email} />
      <PasswordField label="Password" name="newPassword" isNew error={fields["newPassword"]} autofocus />
    </ConfirmPage>
  );
}
