// Notes where the last request with an API key came from, for the page of the key.
import type { LastRequests } from "../services/meter/mod.ts";
import type { AppContext } from "./env.ts";

export function noteKeyRequest(c: AppContext, lastRequests: LastRequests): void {
  const request = c.get("keyRequest");
  if (request === undefined) return;
  const error = c.get("error");
  if (error?.code === "invalid_api_key") return;
  lastRequests.note(request.keyHash, c.res.status, () => {
    const { address, userAgent } = c.get("client");
    return { address, userAgent, error: error?.message ?? null };
  });
}
