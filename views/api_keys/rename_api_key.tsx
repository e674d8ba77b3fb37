// The page that renames an API key.
import type { ApiKey } from "../../domain/api_key.ts";
import { apiKeyNameCharactersMax } from "../../domain/limits.ts";
import { apiKeyHref } from "./api_key_table.tsx";
import { apiKeyFacts, apiKeysBack } from "./api_key_facts.tsx";
import { RenamePanel } from "../components/rename_panel.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

/** What the page shows. */
export interface RenameApiKeyPageProps {
  readonly frame: PortalFrame;
  readonly apiKey: ApiKey;
  /** The name as typed, at first the key's. */
  readonly value: string;
  readonly fieldErrors: Readonly<Record<string, string>>;
}

/** @returns The page that asks for a key's new name. */
export function renameApiKeyPage({ frame, apiKey, value, fieldErrors }: RenameApiKeyPageProps): Page {
  return (
    <PortalPage title="Rename a key" frame={frame} place="api-keys">
      <RenamePanel
        name={apiKey.name}
        value={value}
        error={fieldErrors["name"]}
        charactersMax={apiKeyNameCharactersMax}
        text="The key itself stays the same: programs that use it notice nothing."
        facts={apiKeyFacts(apiKey, frame.now)}
        action={apiKeyHref(apiKey.id, "rename")}
        submit="Rename key"
        back={apiKeysBack}
      />
    </PortalPage>
  );
}
