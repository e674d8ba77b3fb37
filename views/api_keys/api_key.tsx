// The pages about one API key: edit, rotate, revoke.
import type { ApiKey } from "../../domain/api_key.ts";
import { apiKeyNameCharactersMax } from "../../domain/limits.ts";
import { operatorsKeyPermission } from "../../domain/key_permissions.ts";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { type Choice, NameField, RadioGroup } from "../components/field.tsx";
import type { FormErrors } from "../components/form.tsx";
import { ExpiryField, type ExpiryValue } from "../components/expiry_field.tsx";
import { type ApiKeyAction, apiKeyHref } from "../components/key_name.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import type { Page, PortalFrame } from "../layout.tsx";
import { exactTime } from "../text/time.ts";
import { revokeWarning, type UsageToday } from "./use_text.ts";
import { type PermissionChoice, PermissionFields } from "./permission_fields.tsx";

interface ApiKeyPageProps {
  readonly frame: PortalFrame;
  readonly apiKey: ApiKey;
}

/** A form with one field, whose `value` is as typed or chosen. */
type ApiKeyFormProps = ApiKeyPageProps & Pick<FormErrors, "fields"> & { readonly value: string };

const graceChoices: readonly Choice[] = [
  { value: "1h", label: "In 1 hour" },
  { value: "24h", label: "In 24 hours", hint: "Leaves time to update your programs." },
  { value: "7d", label: "In 7 days" },
  {
    value: "now",
    label: "Immediately",
    hint: "Only if it may have leaked. Requests fail until every program has the new key.",
    isDanger: true,
  },
];

export function editApiKeyPage(
  { name, permissions, expiry, fields, message, ...props }: ApiKeyPageProps & FormErrors & {
    readonly name: string;
    readonly permissions: PermissionChoice;
    readonly expiry: ExpiryValue;
  },
): Page {
  const { frame: { now, viewed }, apiKey: { status, expiresAt } } = props;
  return (
    <ConfirmPage
      {...pageProps("edit", props)}
      title="Edit key"
      heading="Edit “{name}”"
      text="The key itself stays the same. Changes take effect immediately."
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
      {status === "active" && (
        <ExpiryField
          value={expiry}
          fields={fields}
          now={now}
          kept={expiresAt === null ? null : exactTime(Date.parse(expiresAt))}
        />
      )}
      <PermissionFields
        chosen={permissions}
        error={fields["permissions"]}
        hasVoid={viewed !== null || props.apiKey.permissions.includes(operatorsKeyPermission)}
      />
    </ConfirmPage>
  );
}

export function rotateApiKeyPage(
  { value, fields, formToken, ...props }: ApiKeyFormProps & { readonly formToken: string },
): Page {
  return (
    <ConfirmPage
      {...pageProps("rotate", props)}
      hidden={{ formToken }}
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

export function revokeApiKeyPage({ today, ...props }: ApiKeyPageProps & { today: UsageToday | null }): Page {
  return (
    <ConfirmPage
      {...pageProps("revoke", props)}
      title="Revoke key"
      heading="Revoke “{name}”?"
      text={revokeWarning(props.apiKey, { now: props.frame.now, today })}
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
    action: apiKeyHref(frame.base, apiKey.id, action),
    back: { href: apiKeyHref(frame.base, apiKey.id), label: name },
  } as const;
}
