// Reads the usage of keys, and the first request with a new one.
import type { ApiKey } from "../../domain/keys/api_key.ts";
import type { KeyLine } from "../../domain/keys/key_list.ts";
import { presentation } from "../../domain/presentation.ts";
import type { Access } from "../../services/access/mod.ts";
import { readLastRequest, readUsage, wasAccepted } from "../../services/meter/mod.ts";
import type { KeyLineRow } from "../../views/keys/api_key_table.tsx";
import type { FirstRequest } from "../../views/keys/first_request.tsx";
import { inTime } from "../portal/in_time.ts";
import type { PortalParts } from "../portal/page.ts";

/** The time that a page looks for the first request with a new key. */
const firstRequestWaitMs = 15 * 60_000;

/** Finds out whether the first request with a key has arrived. */
export async function firstRequestOf({ services }: PortalParts, apiKey: ApiKey): Promise<FirstRequest> {
  const isAwaited = services.clock() - Date.parse(apiKey.createdAt) < firstRequestWaitMs;
  const last = await readLastRequest(services, [apiKey]);
  // A rejected request is a use, too, but not what a new key waits for.
  const isUsed = apiKey.lastUsedAt !== null && (!isAwaited || await wasAccepted(services, apiKey, last));
  return { isUsed, last, isAwaited };
}

/** Reads the latest use of a key. @returns Null if it is not available. */
export function keyReport({ services }: PortalParts, access: Access, apiKeyId: string) {
  const { timezone } = presentation();
  return inTime((signal) =>
    readUsage(services, access, { job: "readKeyReport", query: { apiKeyId, timezone }, signal })
  );
}

/** Adds the usage of the last 30 days to keys. */
export async function withUsage(
  { services }: PortalParts,
  access: Access,
  { lines, timezone }: { lines: readonly KeyLine[]; timezone: string },
): Promise<KeyLineRow[]> {
  const apiKeyIds = lines.map(({ id }) => id);
  const [usage, lastUsage] = await Promise.all([
    inTime((signal) =>
      readUsage(services, access, { job: "sumKeyUsage", query: { apiKeyIds, timezone }, signal })
    ),
    inTime((signal) => readUsage(services, access, { job: "readLastUsage", query: { apiKeyIds }, signal })),
  ]);
  return lines.map((line) => ({
    ...line,
    usage: usage === null ? "unavailable" : usage.get(line.id) ?? null,
    lastUsageAt: lastUsage?.get(line.id) ?? null,
  }));
}
