// Verifies what Gatehouse sends to webhooks. It needs only Web Crypto, so it also runs where Node.js' modules are missing.
import { GatehouseError, rejectUnknown } from "./errors.ts";
import { headerValues, type RequestHeaders } from "./session_cookie.ts";

/** The body of a delivery. */
export interface WebhookEvent {
  /** Such as `limit.reached`. */
  readonly type: string;
  /** When it happened, in ISO 8601 and UTC. */
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface WebhookDelivery {
  /** The headers of the request. */
  readonly headers: RequestHeaders;
  /** The webhook's secret, or several while it is being rotated. Undefined ones are skipped. */
  readonly secret: string | undefined | readonly (string | undefined)[];
  /** For tests: the time to compare with, in milliseconds since 1970. */
  readonly now?: number;
}

/** The reason for which a request is rejected. */
export type WebhookFault =
  | "missing_header"
  | "invalid_timestamp"
  | "timestamp_too_old"
  | "timestamp_too_new"
  | "no_matching_signature";

/** The request doesn't come from this webhook of Gatehouse, or is more than five minutes old. Respond with 400. */
export class WebhookError extends GatehouseError {
  override name = "WebhookError";
  declare readonly code: WebhookFault;

  constructor(code: WebhookFault, message: string) {
    super(message, { code });
  }
}

const toleranceSeconds = 5 * 60;

/**
 * Verifies a delivery and returns its event. An event can be delivered more than once: the header `webhook-id` identifies it.
 *
 * @param body As it was received, not parsed and serialized again.
 * @throws {WebhookError} If the request is not from Gatehouse, or too old.
 * @throws {TypeError} Without a valid secret, with an unknown option, or if the body was parsed.
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  { headers, secret, now = Date.now(), ...unknown }: WebhookDelivery,
): Promise<WebhookEvent> {
  rejectUnknown(unknown, "verifyWebhook()");
  const keys = keysOf(secret);
  const bytes = bytesOf(body);
  const id = requiredHeader(headers, "webhook-id");
  const timestamp = requiredHeader(headers, "webhook-timestamp");
  const signatures = requiredHeader(headers, "webhook-signature").split(" ");
  checkTimestamp(timestamp, now);
  const start = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(start.length + bytes.length);
  signed.set(start);
  signed.set(bytes, start.length);
  for (const key of keys) {
    const expected = await signatureOf(key, signed);
    if (signatures.some((signature) => isEqual(signature, expected))) {
      return JSON.parse(new TextDecoder().decode(bytes));
    }
  }
  throw new WebhookError("no_matching_signature", "No signature of the request matches the secret.");
}

function keysOf(secret: WebhookDelivery["secret"]): Uint8Array<ArrayBuffer>[] {
  const secrets = [secret].flat().filter((one): one is string => Boolean(one));
  const keys = secrets.map((one) => decoded(one.replace(/^whsec_/, "")));
  if (keys.length > 0 && keys.every((key) => key.length > 0)) return keys;
  throw new TypeError("secret must be the webhook's secret, which begins with whsec_.");
}

/** Decodes base64. Returns no bytes for anything else. */
function decoded(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function bytesOf(body: string | Uint8Array | ArrayBuffer): Uint8Array<ArrayBuffer> {
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return new Uint8Array(body);
  throw new TypeError("body must be the text or the bytes of the request, before any parser.");
}

function requiredHeader(headers: RequestHeaders, name: string): string {
  const [value = ""] = headerValues(headers, name);
  if (value !== "") return value;
  throw new WebhookError("missing_header", `The header ${name} is missing.`);
}

function checkTimestamp(timestamp: string, now: number): void {
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookError("invalid_timestamp", "The header webhook-timestamp isn't a time in seconds.");
  }
  const age = Math.floor(now / 1000) - Number(timestamp);
  if (age > toleranceSeconds) {
    throw new WebhookError("timestamp_too_old", "The request was sent more than five minutes ago.");
  }
  if (age < -toleranceSeconds) {
    throw new WebhookError("timestamp_too_new", "The request is from the future: check this server's clock.");
  }
}

/** Returns the signature as in the header. */
async function signatureOf(key: Uint8Array<ArrayBuffer>, signed: Uint8Array<ArrayBuffer>): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", imported, signed));
  return `v1,${btoa(String.fromCharCode(...signature))}`;
}

/** Compares in a time that depends only on the length. */
function isEqual(given: string, expected: string): boolean {
  if (given.length !== expected.length) return false;
  let difference = 0;
  for (let n = 0; n < given.length; n++) difference |= given.charCodeAt(n) ^ expected.charCodeAt(n);
  return difference === 0;
}
