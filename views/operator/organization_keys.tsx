// The console's pages of an organization's API keys: the list, the form, the new key, and the page that revokes one.
import type { ApiKey } from "../../domain/api_key.ts";
import { NewKeyFields, type NewKeyValues } from "../api_keys/new_key_fields.tsx";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { NewSecret } from "../components/code.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { Form, type FormErrors } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { organizationActionHref, organizationPlace as place } from "./organization.tsx";
import { backTo } from "./links.ts";
import { OrganizationKeyTable, revokeKeyHref } from "./organization_key_table.tsx";

interface KeyPageProps {
  readonly frame: PortalFrame;
  readonly organization: { readonly id: string; readonly name: string };
}

/** What the list shows. */
export interface OrganizationKeysPageProps extends KeyPageProps {
  readonly apiKeys: readonly ApiKey[];
  readonly nextHref: string | null;
  /** A key that was just created. */
  readonly created: { readonly name: string; readonly fullKey: string } | null;
  /** What was just done. */
  readonly flash: string | null;
}

/** @returns The list of an organization's keys. */
export function organizationKeysPage(props: OrganizationKeysPageProps): Page {
  const { frame, organization, apiKeys, nextHref, created, flash } = props;
  const create = (
    <ButtonLink tone="primary" href={organizationActionHref(organization.id, "api-keys/new")}>
      Create key
    </ButtonLink>
  );
  return (
    <PortalPage title={`API keys of ${organization.name}`} frame={frame} place={place}>
      <PageHead back={backTo(organization)} title="API keys of “{name}”" name={organization.name}>
        {apiKeys.length > 0 && create}
      </PageHead>
      <Notice tone="done" text={flash} />
      {created && <NewSecret what="key" name={created.name} value={created.fullKey} />}
      <Card title="Newest first" flush>
        {apiKeys.length === 0
          ? (
            <EmptyState title="No API keys yet" text="Members create keys, and so can you.">
              {create}
            </EmptyState>
          )
          : <OrganizationKeyTable organizationId={organization.id} apiKeys={apiKeys} now={frame.now} />}
      </Card>
      <PageLinks links={[{ href: nextHref, label: "Older keys" }]} />
    </PortalPage>
  );
}

/** @returns The page that creates a key. */
export function newOrganizationKeyPage(
  { frame, organization, values, fields, message }: KeyPageProps & FormErrors & { values: NewKeyValues },
): Page {
  return (
    <PortalPage title="Create key" frame={frame} place={place}>
      <PageHead
        back={backTo(organization)}
        title="Create a key for “{name}”"
        name={organization.name}
        text="Members see it in their list, created by the operator."
      />
      <Form class="card" action={organizationActionHref(organization.id, "api-keys/new")}>
        <div class="body">
          <Notice tone="refused" text={message} />
          <NewKeyFields values={values} fields={fields} now={frame.now} canGrantVoid autofocus />
        </div>
        <footer>
          <SubmitButton>Create key</SubmitButton>
          <ButtonLink href={backTo(organization).href}>Cancel</ButtonLink>
        </footer>
      </Form>
    </PortalPage>
  );
}

/** @returns The page that asks whether to revoke a key of an organization. */
export function revokeOrganizationKeyPage(
  { frame, organization, apiKey, message }: KeyPageProps & { apiKey: ApiKey; message: string | null },
): Page {
  const { id, name, keyPrefix, createdAt, lastUsedAt } = apiKey;
  return (
    <ConfirmPage
      frame={frame}
      place={place}
      title="Revoke key"
      heading="Revoke “{name}”?"
      name={name}
      text="Requests with this key will fail immediately. This can't be undone."
      facts={[
        { label: "Organization", value: organization.name },
        { label: "Key", value: <code>{keyPrefix}</code> },
        { label: "Created", value: <RelativeTime at={createdAt} now={frame.now} /> },
        { label: "Last used", value: <RelativeTime at={lastUsedAt} now={frame.now} /> },
      ]}
      action={revokeKeyHref(organization.id, id)}
      submit="Revoke key"
      back={backTo(organization)}
      error={message}
    />
  );
}
