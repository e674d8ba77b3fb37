// Deliveries with known signatures, for everything that signs and verifies.

/** A delivery and its header `webhook-signature`. */
export interface WebhookVector {
  readonly secret: string;
  readonly id: string;
  /** In seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
  readonly signature: string;
}

/** The first is from the tests of standard-webhooks/standard-webhooks; the other was signed with Python's `hmac`. */
export const webhookVectors: readonly WebhookVector[] = [
  {
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    timestamp: 1614265330,
    body: '{"test": 2432232314}',
    signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  },
  {
    secret: "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    id: "evt_0199d3c1a2b47c6e8f00112233445566",
    timestamp: 1795269791,
    body:
      '{"type":"member.added","timestamp":"2026-11-21T14:03:11.250Z","data":{"organization":{"name":"Bücher “€” 🗺"}}}',
    signature: "v1,smkrSW7pQAj/NMSIAP8yONWihksRYehxx7jdeXytbSE=",
  },
];
