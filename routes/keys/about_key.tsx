// What forms about an API key say of it.
import type { ApiKey } from "../../domain/keys/api_key.ts";
import type { PageForm } from "../../views/components/form_page.tsx";
import { apiKeyHref } from "../../views/components/key_name.tsx";
import { LastUsage } from "../../views/components/last_usage.tsx";
import { RelativeTime } from "../../views/components/relative_time.tsx";

/** Returns what a form about a key says of it. `lastUsageAt`: the start of a quarter of an hour; undefined if it is not available. */
export function aboutKey(
  { frame: { base, now } }: Pick<PageForm, "frame">,
  apiKey: ApiKey,
  lastUsageAt?: number | null,
) {
  const { id, name, keyPrefix, createdAt, lastUsedAt } = apiKey;
  return {
    name,
    facts: [
      { label: "Key", value: <code>{keyPrefix}</code> },
      { label: "Created", value: <RelativeTime at={createdAt} now={now} /> },
      { label: "Last request", value: <RelativeTime at={lastUsedAt} now={now} /> },
      ...(lastUsageAt === undefined
        ? []
        : [{ label: "Last usage", value: <LastUsage at={lastUsageAt} now={now} /> }]),
    ],
    back: { href: apiKeyHref(base, id), label: name },
  };
}
