// Notes the outcomes of requests with API keys, for the pages of keys and organizations.
import type { Services } from "../services/services.ts";
import type { AppContext } from "./env.ts";

export function noteKeyRequest(
  c: AppContext,
  { lastRequests, requestOutcomes }: Pick<Services, "lastRequests" | "requestOutcomes">,
): void {
  const request = c.get("keyRequest");
  const error = c.get("error");
  const requestId = c.get("requestId");
  const invalidKey = error && c.get("invalidKey");
  if (invalidKey !== undefined) {
    const isFlood = error?.code === "rate_limited";
    requestOutcomes.rejectInvalid(invalidKey, {
      organizationId: request?.organizationId,
      isFlood,
      requestId,
    });
  }
  if (request === undefined) return;
  const { keyHash, organizationId } = request;
  if (error === undefined) {
    requestOutcomes.accept(keyHash, organizationId, { isRepeat: c.get("isRepeat") === true });
  } else if (invalidKey === undefined) {
    requestOutcomes.rejectWith(keyHash, organizationId, { error, requestId });
  }
  if (error?.code === "invalid_api_key") return;
  lastRequests.note(keyHash, c.res.status, () => {
    const { address, userAgent } = c.get("client");
    return { address, userAgent, error: error?.message ?? null };
  });
}
