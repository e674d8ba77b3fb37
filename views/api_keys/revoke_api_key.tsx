// The page that asks before an API key is revoked.
import type { ApiKey } from "../../domain/api_key.ts";
import { apiKeyHref } from "./api_key_table.tsx";
import { apiKeyFacts, apiKeysBack } from "./api_key_facts.tsx";
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

/** What the page shows. */
export interface RevokeApiKeyPageProps {
  readonly frame: PortalFrame;
  readonly apiKey: ApiKey;
}

/** @returns The page that asks whether to revoke a key. */
export function revokeApiKeyPage({ frame, apiKey }: RevokeApiKeyPageProps): Page {
  return (
    <PortalPage title="Revoke a key" frame={frame} place="api-keys">
      <ConfirmPanel
        title={
          <>
            Revoke “<bdi>{apiKey.name}</bdi>”?
          </>
        }
        text="Programs that use it are refused from their next request on. This cannot be undone."
        facts={apiKeyFacts(apiKey, frame.now)}
        action={apiKeyHref(apiKey.id, "revoke")}
        submit="Revoke key"
        tone="destroy"
        back={apiKeysBack}
      />
    </PortalPage>
  );
}
