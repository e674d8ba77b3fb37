// Sends a delivery to a URL that a customer chose. Nothing of the response is kept but its status and `Retry-After`.
import type { DeliveryFault } from "../../domain/outbox/delivery.ts";
import { type AddressGuard, BlockedAddressError } from "./address_guard.ts";
import { type OutgoingRequest, RequestTimeoutError, sendRequest } from "./guarded_request.ts";

const unguardedBytesMax = 64 * 1024;

export type PostRequest = Omit<OutgoingRequest, "method" | "bodyBytesMax">;

export interface PostResult {
  /** Null without a valid response. */
  readonly status: number | null;
  /** The header `Retry-After`. */
  readonly retryAfter: string | null;
  /** Null for a 2xx. */
  readonly code: DeliveryFault | null;
  readonly durationMs: number;
}

/** Sends one request and reads the head of the response. Never throws. @param guard Null for a URL of operators. */
export async function post(guard: AddressGuard | null, request: PostRequest): Promise<PostResult> {
  const startedAt = performance.now();
  let result: Omit<PostResult, "durationMs">;
  try {
    // Without a guard, the whole response is read.
    const bodyBytesMax = guard === null ? unguardedBytesMax : null;
    const response = await sendRequest(guard, { ...request, method: "POST", bodyBytesMax });
    const retryAfter = response.headers.get("retry-after") || null;
    result = { status: response.status, retryAfter, code: response.ok ? null : "status" };
  } catch (error) {
    result = { status: null, retryAfter: null, code: faultOf(error) };
  }
  return { ...result, durationMs: Math.round(performance.now() - startedAt) };
}

function faultOf(error: unknown): DeliveryFault {
  if (error instanceof RequestTimeoutError) return "timeout";
  if (error instanceof BlockedAddressError) return "blocked";
  // Deno reports all certificate and protocol errors in this way.
  return error instanceof Deno.errors.InvalidData ? "tls" : "refused";
}
