// The pages about one API key: rename, rotate, revoke.
import type { ApiKey } from "../../domain/api_key.ts";
import { apiKeyNameCharactersMax } from "../../domain/limits.ts";
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { type Choice, RadioGroup } from "../components/field.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import { RenamePanel } from "../components/rename_panel.tsx";
import type { FormErrors } from "../components/row_form.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { type ApiKeyAction, apiKeyHref } from "./api_key_table.tsx";

/** The key that a page is about. */
export interface ApiKeyPageProps {
  readonly frame: PortalFrame;
  readonly apiKey: ApiKey;
}

/** A page with a field. */
export interface ApiKeyFormProps extends ApiKeyPageProps, Pick<FormErrors, "fieldErrors"> {
  /** As typed or chosen. */
  readonly value: string;
}

const graceChoices: readonly Choice[] = [
  {
    value: "now",
    label: "Immediately",
    hint: "If it may have leaked. Requests with the old key will fail.",
  },
  { value: "1h", label: "In 1 hour" },
  { value: "24h", label: "In 24 hours", hint: "Leaves time to update your programs." },
  { value: "7d", label: "In 7 days" },
];

/** @returns The page that renames a key. */
export function renameApiKeyPage({ value, fieldErrors, ...props }: ApiKeyFormProps): Page {
  return (
    <PortalPage title="Rename key" frame={props.frame} place="api-keys">
      <RenamePanel
        {...panelProps("rename", props)}
        name={props.apiKey.name}
        value={value}
        error={fieldErrors["name"]}
        charactersMax={apiKeyNameCharactersMax}
        text="The key itself stays the same. Requests with it keep working."
        submit="Rename key"
      />
    </PortalPage>
  );
}

/** @returns The page that replaces a key and asks when the old one should stop working. */
export function rotateApiKeyPage({ value, fieldErrors, ...props }: ApiKeyFormProps): Page {
  return (
    <PortalPage title="Rotate key" frame={props.frame} place="api-keys">
      <ConfirmPanel
        {...panelProps("rotate", props)}
        title={
          <>
            Rotate “<bdi>{props.apiKey.name}</bdi>”
          </>
        }
        text="Creates a new key with the same name. The old one keeps working until the time you choose."
        submit="Create new key"
        tone="primary"
      >
        <RadioGroup
          label="When should the old key stop working?"
          name="expireOld"
          value={value}
          choices={graceChoices}
          error={fieldErrors["expireOld"]}
        />
      </ConfirmPanel>
    </PortalPage>
  );
}

/** @returns The page that asks whether to revoke a key. */
export function revokeApiKeyPage(props: ApiKeyPageProps): Page {
  return (
    <PortalPage title="Revoke key" frame={props.frame} place="api-keys">
      <ConfirmPanel
        {...panelProps("revoke", props)}
        title={
          <>
            Revoke “<bdi>{props.apiKey.name}</bdi>”?
          </>
        }
        text="Requests with this key will fail immediately. This can't be undone."
        submit="Revoke key"
        tone="destroy"
      />
    </PortalPage>
  );
}

function panelProps(action: ApiKeyAction, { frame: { now }, apiKey }: ApiKeyPageProps) {
  const { lastUsedAt } = apiKey;
  return {
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
  };
}
