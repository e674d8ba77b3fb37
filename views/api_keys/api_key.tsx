// The pages about one API key: edit, rotate, revoke.
import type { ApiKey } from "../../domain/api_key.ts";
import { apiKeyNameCharactersMax } from "../../domain/limits.ts";
import { operatorsKeyPermission } from "../../domain/key_permissions.ts";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { type Choice, NameField, RadioGroup } from "../components/field.tsx";
import type { FormErrors } from "../components/form.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import type { Page, PortalFrame } from "../layout.tsx";
import { type ApiKeyAction, apiKeyHref } from "./api_key_table.tsx";
import { type PermissionChoice, PermissionFields } from "./permission_fields.tsx";

/** The key that a page is about. */
interface ApiKeyPageProps {
  readonly frame: PortalFrame;
  readonly apiKey: ApiKey;
}

/** A page with a field. `value`: as typed or chosen. */
type ApiKeyFormProps = ApiKeyPageProps & Pick<FormErrors, "fields"> & { readonly value: string };

const graceChoices: readonly Choice[] = [
  { value: "now", label: "Immediately", hint: "If it may have leaked. Requests with the old key will fail." },
  { value: "1h", label: "In 1 hour" },
  { value: "24h", label: "In 24 hours", hint: "Leaves time to update your programs." },
  { value: "7d", label: "In 7 days" },
];

/** @returns The page that changes a key's name and permissions. */
export function editApiKeyPage(
  { name, permissions, fields, message, ...props }: ApiKeyPageProps & FormErrors & {
    readonly name: string;
    readonly permissions: PermissionChoice;
  },
): Page {
  return (
    <ConfirmPage
      {...pageProps("edit", props)}
      title="Edit key"
      heading="Edit “{name}”"
      text="The key itself stays the same. New permissions take effect immediately."
      submit="Save changes"
      error={message}
      tone="primary"
    >
      <NameField
        label="Name"
        value={name}
        error={fields["name"]}
        autocomplete="off"
        charactersMax={apiKeyNameCharactersMax}
        autofocus
      />
      <PermissionFields
        chosen={permissions}
        error={fields["permissions"]}
        canKeepVoid={props.apiKey.permissions.includes(operatorsKeyPermission)}
      />
    </ConfirmPage>
  );
}

/** @returns The page that replaces a key and asks when the old one should stop working. */
export function rotateApiKeyPage({ value, fields, ...props }: ApiKeyFormProps): Page {
  return (
    <ConfirmPage
      {...pageProps("rotate", props)}
      title="Rotate key"
      heading="Rotate “{name}”"
      text="Creates a new key with the same name and permissions. The old one keeps working until the time you choose."
      submit="Create new key"
      tone="primary"
    >
      <RadioGroup
        label="When should the old key stop working?"
        name="expireOld"
        value={value}
        choices={graceChoices}
        error={fields["expireOld"]}
      />
    </ConfirmPage>
  );
}

/** @returns The page that asks whether to revoke a key. */
export function revokeApiKeyPage(props: ApiKeyPageProps): Page {
  return (
    <ConfirmPage
      {...pageProps("revoke", props)}
      title="Revoke key"
      heading="Revoke “{name}”?"
      text="Requests with this key will fail immediately. This can't be undone."
      submit="Revoke key"
    />
  );
}

function pageProps(action: ApiKeyAction, { frame, apiKey }: ApiKeyPageProps) {
  const { name, lastUsedAt } = apiKey;
  const { now } = frame;
  return {
    frame,
    place: "api-keys",
    name,
    facts: [
      { label: "Key", value: <code>{apiKey.keyPrefix}</code> },
      { label: "Created", value: <RelativeTime at={apiKey.createdAt} now={now} /> },
      { label: "Last used", value: <RelativeTime at={lastUsedAt} now={now} /> },
    ],
    action: apiKeyHref(apiKey.id, action),
    back: { href: "/portal/api-keys", label: "API keys" },
  } as const;
}
