// The parts of the OpenAPI document that operations share: tags, security schemes and response headers.
import { sessionCookieName } from "../../cookies.ts";

/** In the order of the API reference. */
export const tagDescriptions = {
  Usage: "Record usage with an API key, and retrieve it.",
  Alerts: "Get notified when usage reaches a quantity that you choose.",
  "API keys": "Manage the API keys of an organization.",
  Organizations: "Manage organizations, their members and invitations.",
  "Sign-in":
    "Find out who is signed in, from every product on the same parent domain. Allowed origins may call these endpoints " +
    "with cookies.",
  Account: "Manage your own account. Other origins may not call these endpoints.",
  "Audit log": "See who did what in an organization.",
  Webhooks: "Send events to your servers when limits are reached, keys expire or members change.",
  Operators: "See and manage every organization, as the company that runs the service.",
  Operations: "Monitor the service.",
} as const;

export type Tag = keyof typeof tagDescriptions;

export const securitySchemeNames: Readonly<Record<string, string>> = {
  session: "Session",
  apiKey: "API key",
  operatorToken: "Operator token",
  metricsToken: "Metrics token",
};

export const securitySchemes = {
  session: {
    type: "apiKey",
    in: "cookie",
    name: sessionCookieName,
    description:
      "The cookie that signing in sets. From a browser, requests that change something must come from the service's own " +
      "pages or, below `/api/auth/`, from an allowed origin. Programs must not send `Origin`, and must send " +
      "`Content-Type: application/json` with every POST request.",
  },
  apiKey: {
    type: "http",
    scheme: "bearer",
    description:
      "An API key from the portal. If keys are rate-limited, responses have the headers `RateLimit` and " +
      "`RateLimit-Policy`.",
  },
  operatorToken: {
    type: "http",
    scheme: "bearer",
    description: "A token of the company that runs the service, with the scope that the operation names.",
  },
  metricsToken: {
    type: "http",
    scheme: "bearer",
    description:
      "The value of `METRICS_TOKEN`. If it isn't set, metrics are available only on the same machine.",
  },
} as const;

type Requirement = Readonly<Partial<Record<keyof typeof securitySchemes, readonly string[]>>>;

/** The alternatives that each kind of operation accepts, in OpenAPI's form: `{}` is an anonymous caller. */
export const securityRequirements = {
  none: [],
  session: [{ session: [] }],
  maybeSession: [{ session: [] }, {}],
  sessionOrApiKey: [{ session: [] }, { apiKey: [] }],
  apiKey: [{ apiKey: [] }],
  operator: [{ operatorToken: [] }, { session: [] }],
  operatorToken: [{ operatorToken: [] }],
  operatorAccount: [{ session: [] }],
  metricsToken: [{ metricsToken: [] }],
} as const satisfies Readonly<Record<string, readonly Requirement[]>>;

export type Security = keyof typeof securityRequirements;

/** True if an operation accepts a scheme and rejects anonymous callers. */
export function requiresScheme(security: Security, scheme: "session" | "apiKey"): boolean {
  const requirements: readonly Requirement[] = securityRequirements[security];
  return requirements.some((one) => scheme in one) &&
    requirements.every((one) => Object.keys(one).length > 0);
}

/** Response headers by component name. */
export const responseHeaders = {
  RequestId: {
    description: "The id of the request, as in the server's log.",
    schema: { type: "string", example: "req_0199d3c1a2b47c6e8f00000000000001" },
  },
  RetryAfter: {
    description: "Seconds to wait before the next try.",
    schema: { type: "integer", minimum: 1, example: 1 },
  },
  RateLimit: {
    description:
      "Requests the key has left (`r`), and seconds until the limit resets (`t`). When usage is recorded, also what is left of the " +
      "hard or cutoff limit with the smallest share left, by its id.",
    schema: { type: "string", example: '"key";r=999;t=1' },
  },
  RateLimitPolicy: {
    description:
      "Requests per key (`q`) in a window of seconds (`w`), and the quantity of that limit. Absent without a limit.",
    schema: { type: "string", example: '"key";q=1000;w=1' },
  },
} as const;

export type OwnHeaders = Readonly<Record<string, { readonly description: string; readonly example: string }>>;

const ref = (name: keyof typeof responseHeaders) => ({ $ref: `#/components/headers/${name}` });

/** Returns all headers of a response, for the document. `own`: those it always has. `retries`: it has `Retry-After`. */
export function headersOf(
  { security, own = {}, retries = false }: {
    security?: Security;
    own?: OwnHeaders | undefined;
    retries?: boolean;
  },
) {
  const ownHeaders = Object.entries(own).map(([name, { description, example }]) =>
    [name, { description, required: true, schema: { type: "string" as const, example } }] as const
  );
  return {
    "X-Request-Id": ref("RequestId"),
    ...(security === "apiKey" &&
      { "RateLimit": ref("RateLimit"), "RateLimit-Policy": ref("RateLimitPolicy") }),
    ...(retries && { "Retry-After": ref("RetryAfter") }),
    ...Object.fromEntries(ownHeaders),
  };
}
