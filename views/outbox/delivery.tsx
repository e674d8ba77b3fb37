// The words and the address of a delivery, for its page and for lists.
import type {
  DeliveryAttempt,
  DeliveryFault,
  DeliveryStatus,
  WebhookDelivery,
} from "../../domain/outbox/delivery.ts";
import { Badge, type BadgeTone } from "../components/badge.tsx";
import { webhookHref } from "./webhook.tsx";

/** Returns the address of a delivery's page, or of the page that sends it again. @param base As in `PortalFrame`. */
export function deliveryHref(base: string, webhookId: string, id: string, action?: "replay"): string {
  const href = `${webhookHref(base, webhookId)}/deliveries/${encodeURIComponent(id)}`;
  return action === undefined ? href : `${href}/${action}`;
}

export const statusNames: Readonly<Record<DeliveryStatus, string>> = {
  waiting: "Waiting",
  delivered: "Delivered",
  failed: "Failed",
  held: "Held",
};

const statusTones: Readonly<Record<DeliveryStatus, BadgeTone>> = {
  waiting: "soon",
  delivered: "on",
  failed: "bad",
  held: "off",
};

export function DeliveryBadge({ status }: Pick<WebhookDelivery, "status">) {
  return <Badge tone={statusTones[status]}>{statusNames[status]}</Badge>;
}

type Outcome = Pick<DeliveryAttempt, "code" | "responseStatus">;

/** The faults of attempts without a response, in one or two words and in a sentence. */
const faultWords: Readonly<Record<DeliveryFault, readonly [words: string, sentence: string]>> = {
  timeout: ["Timed out", "No response within 15 seconds."],
  tls: ["TLS error", "The secure connection failed. Check the certificate."],
  refused: ["No connection", "No connection, or no valid HTTP response."],
  blocked: ["Address blocked", "The URL leads to an address that may not be reached."],
  status: ["No status", "Responded with no status."],
  overflow: ["Too many waiting", "Too many deliveries were waiting."],
};

/** Returns how an endpoint responded last, in one or two words; null before the first attempt. */
export function responseWords({ code, responseStatus }: Outcome): string | null {
  if (responseStatus !== null) return `HTTP ${responseStatus}`;
  return code === null ? null : faultWords[code][0];
}

export function attemptSentence({ code, responseStatus: status }: Outcome, isGone: boolean): string {
  if (status === null) return faultWords[code ?? "status"][1];
  const isRedirect = status >= 300 && status < 400;
  const more = isRedirect
    ? " Redirects aren't followed."
    : status === 410 && isGone
    ? " The webhook was disabled."
    : "";
  return `Responded with ${status}.${more}`;
}
