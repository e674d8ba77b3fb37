// What tells one key from another, on the pages that are about a single key.
import type { ApiKey } from "../../domain/api_key.ts";
import type { Fact } from "../components/confirm_panel.tsx";
import { RelativeTime } from "../components/relative_time.tsx";

/** Where these pages come from. */
export const apiKeysBack = { href: "/portal/api-keys", label: "API keys" } as const;

/** @returns How the key begins, when it was made and when it was last used. */
export function apiKeyFacts(apiKey: ApiKey, now: number): readonly Fact[] {
  const lastUsed = apiKey.lastUsedAt === null ? "Never" : <RelativeTime at={apiKey.lastUsedAt} now={now} />;
  return [
    { label: "Key", value: <code>{apiKey.keyPrefix}</code> },
    { label: "Created", value: <RelativeTime at={apiKey.createdAt} now={now} /> },
    { label: "Last used", value: lastUsed },
  ];
}
