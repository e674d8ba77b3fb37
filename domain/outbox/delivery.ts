// Deliveries of events to webhook endpoints.
import type { EventSubject } from "./event.ts";

/**
 * The reasons for which an attempt fails. `refused`: no connection, no name, or no valid response. `blocked`: an address that may not be
 * reached. `status`: a response other than 2xx. `overflow`: too many deliveries of the endpoint waited.
 */
export const deliveryFaults = ["timeout", "tls", "refused", "blocked", "status", "overflow"] as const;
export type DeliveryFault = (typeof deliveryFaults)[number];

/** `held`: the endpoint was disabled; only a replay sends it. */
export const deliveryStatuses = ["waiting", "delivered", "failed", "held"] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** An event for one endpoint. Times are ISO 8601 UTC. */
export interface WebhookDelivery {
  readonly id: string;
  readonly eventId: string;
  readonly type: string;
  readonly status: DeliveryStatus;
  /** Attempts since it was created or replayed. */
  readonly attemptCount: number;
  /** Null unless the delivery is waiting. */
  readonly nextAttemptAt: string | null;
  /** The reason of the last failed attempt; null if there is none. */
  readonly code: DeliveryFault | null;
  /** HTTP status of the last response. */
  readonly responseStatus: number | null;
  readonly createdAt: string;
  /** The time when it was delivered or finally failed. */
  readonly endedAt: string | null;
}

export interface ListedDelivery extends WebhookDelivery {
  readonly subject: EventSubject;
}

export interface DeliveryAttempt {
  readonly at: string;
  readonly durationMs: number;
  /** Null if it was delivered. */
  readonly code: DeliveryFault | null;
  readonly responseStatus: number | null;
}

/** A delivery as its own page and resource show it. */
export interface WebhookDeliveryDetails extends WebhookDelivery {
  /** The body that is sent. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly attempts: readonly DeliveryAttempt[];
}
