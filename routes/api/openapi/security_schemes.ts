// The security schemes of the API, and which of them each kind of route accepts.
import { sessionCookieName } from "../../cookies.ts";

/** The schemes of the OpenAPI document. */
export const securitySchemes = {
  session: {
    type: "apiKey",
    in: "cookie",
    name: sessionCookieName,
    description:
      "The cookie that signing in sets. A browser's write with it must come from the service itself or, under `/api/auth/`, " +
      "from an allowed origin. Programs send no `Origin`, and `Content-Type: application/json` with every POST.",
  },
  apiKey: {
    type: "http",
    scheme: "bearer",
    description:
      "An API key that a customer made in the portal. Answers have the headers `RateLimit` and `RateLimit-Policy` when " +
      "calls of a key are limited.",
  },
  metricsToken: {
    type: "http",
    scheme: "bearer",
    description:
      "The operator's `METRICS_TOKEN`. Where none is set, the metrics are for the same machine only.",
  },
} as const;

type Requirement = Readonly<Partial<Record<keyof typeof securitySchemes, readonly string[]>>>;

/** The alternatives that each kind of route accepts, in the form of OpenAPI: `{}` is an anonymous caller. */
export const securityRequirements = {
  none: [],
  session: [{ session: [] }],
  maybeSession: [{ session: [] }, {}],
  sessionOrApiKey: [{ session: [] }, { apiKey: [] }],
  apiKey: [{ apiKey: [] }],
  metricsToken: [{ metricsToken: [] }],
} as const satisfies Readonly<Record<string, readonly Requirement[]>>;

/** One of {@linkcode securityRequirements}. */
export type Security = keyof typeof securityRequirements;

/** @returns Whether a kind of route accepts a scheme, and rejects anonymous callers. */
export function requiresScheme(security: Security, scheme: "session" | "apiKey"): boolean {
  const requirements: readonly Requirement[] = securityRequirements[security];
  return requirements.some((one) => scheme in one) &&
    requirements.every((one) => Object.keys(one).length > 0);
}
