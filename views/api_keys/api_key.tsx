// The pages about one API key: rename, rotate, revoke.
import type { ApiKey } from "../../domain/api_key.ts";
import { apiKeyNameCharactersMax } from "../../domain/limits.ts";
import { ConfirmPage, RenamePage } from "../components/confirm_page.tsx";
import { type Choice, RadioGroup } from "../components/field.tsx";
import type { FormErrors } from "../components/form.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import type { Page, PortalFrame } from "../layout.tsx";
import { type ApiKeyAction, apiKeyHref } from "./api_key_table.tsx";

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

/** @returns The page that renames a key. */
export function renameApiKeyPage({ value, fields, ...props }: ApiKeyFormProps): Page {
  return (
    <RenamePage
      {...pageProps("rename", props)}
      title="Rename key"
      value={value}
      rejected={{ fields }}
      charactersMax={apiKeyNameCharactersMax}
      text="The key itself stays the same. Requests with it keep working."
      submit="Rename key"
    />
  );
}

/** @returns The page that replaces a key and asks when the old one should stop working. */
export function rotateApiKeyPage({ value, fields, ...props }: ApiKeyFormProps): Page {
  return (
    <ConfirmPage
      {...pageProps("rotate", props)}
      title="Rotate key"
      heading="Rotate “{name}”"
      text="Creates a new key with the same name. The old one keeps working until the time you choose."
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
      {
        label: "Last used",
        value: lastUsedAt === null ? "Never" : <RelativeTime at={lastUsedAt} now={now} />,
      },
    ],
    action: apiKeyHref(apiKey.id, action),
    back: { href: "/portal/api-keys", label: "API keys" },
  } as const;
}
