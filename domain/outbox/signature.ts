// Secrets of webhooks, and signatures as in Standard Webhooks 1.0.
import { Buffer } from "node:buffer";
import { createHmac, randomBytes } from "node:crypto";

const secretPrefix = "whsec_";
const secretBytes = 32;

/** The parts of a delivery that are signed. Neither `id` nor `timestamp` contains a full stop. */
export interface SignedDelivery {
  readonly id: string;
  /** When the attempt begins, in seconds since 1970. */
  readonly timestamp: number;
  /** The exact text that is sent. */
  readonly body: string;
}

export function newWebhookSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString("base64");
}

/** Returns the header `webhook-signature`: one signature for each secret, so that receivers may know any of them. */
export function webhookSignature(
  secrets: readonly string[],
  { id, timestamp, body }: SignedDelivery,
): string {
  return secrets.map((secret) => {
    const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  }).join(" ");
}
