// The page that replaces an API key by a new one, and asks how long the old one goes on.
import type { ApiKey } from "../../domain/api_key.ts";
import { apiKeyHref } from "./api_key_table.tsx";
import { apiKeyFacts, apiKeysBack } from "./api_key_facts.tsx";
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { type Choice, RadioGroup } from "../components/field.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

/** What the page shows. */
export interface RotateApiKeyPageProps {
  readonly frame: PortalFrame;
  readonly apiKey: ApiKey;
  /** When the old key stops: one of the choices' values. */
  readonly value: string;
  readonly fieldErrors: Readonly<Record<string, string>>;
}

const choices: readonly Choice[] = [
  {
    value: "now",
    label: "At once",
    hint: "If it may be in the wrong hands. Programs that use it are refused.",
  },
  { value: "1h", label: "In 1 hour" },
  { value: "24h", label: "In 24 hours", hint: "Time to give the new key to every program." },
  { value: "7d", label: "In 7 days" },
];

/** @returns The page that asks how to rotate a key. */
export function rotateApiKeyPage({ frame, apiKey, value, fieldErrors }: RotateApiKeyPageProps): Page {
  return (
    <PortalPage title="Rotate a key" frame={frame} place="api-keys">
      <ConfirmPanel
        title={
          <>
            Rotate “<bdi>{apiKey.name}</bdi>”
          </>
        }
        text="You get a new key of the same name. The old one works until the time that you choose."
        facts={apiKeyFacts(apiKey, frame.now)}
        action={apiKeyHref(apiKey.id, "rotate")}
        submit="Create the new key"
        tone="primary"
        back={apiKeysBack}
      >
        <RadioGroup
          label="When does the old key stop?"
          name="expireOld"
          value={value}
          choices={choices}
          error={fieldErrors["expireOld"]}
        />
      </ConfirmPanel>
    </PortalPage>
  );
}
