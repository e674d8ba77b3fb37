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

/** A change of a delivery that makes it invalid, and the code of the error. `now` is in seconds. */
export interface RejectedDelivery {
  readonly change: {
    readonly body?: string;
    readonly secret?: string;
    readonly now?: number;
    readonly headers?: Readonly<Record<string, string>>;
  };
  readonly code: string;
}

export function rejectedDeliveries(vector: WebhookVector): RejectedDelivery[] {
  const { secret, id, timestamp, body, signature } = vector;
  const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
  const signatures = [
    "v1,",
    "v1",
    ",",
    signature.slice(0, 8),
    signature.slice(0, -1),
    `${signature}A`,
    signature.replace("v1,", "v2,"),
    signature.replace("v1,", "v1a,"),
    signature.replace("v1,", ""),
    "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= v2,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=",
    "v1,\u00fc",
  ];
  return [
    ...names.map((name) => ({ change: { headers: { [name]: "" } }, code: "missing_header" })),
    ...["hello", "-1", "1e9", `${timestamp}.5`, ` ${timestamp}`, "٣", "9".repeat(400)].map((text) => (
      { change: { headers: { "webhook-timestamp": text } }, code: "invalid_timestamp" }
    )),
    { change: { now: timestamp + 301 }, code: "timestamp_too_old" },
    { change: { now: timestamp - 301 }, code: "timestamp_too_new" },
    ...signatures.map((text) => (
      { change: { headers: { "webhook-signature": text } }, code: "no_matching_signature" }
    )),
    { change: { headers: { "webhook-id": `${id}0` } }, code: "no_matching_signature" },
    { change: { headers: { "webhook-timestamp": String(timestamp + 1) } }, code: "no_matching_signature" },
    { change: { body: `${body} ` }, code: "no_matching_signature" },
    { change: { body: "" }, code: "no_matching_signature" },
    { change: { secret: `whsec_${"A".repeat(secret.length - 6)}` }, code: "no_matching_signature" },
  ];
}
