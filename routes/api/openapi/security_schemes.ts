// How a caller may prove who they are: what routes ask for, and how the OpenAPI document says so.

/** For each kind of route the ways that will do, any one of them; an empty one is nobody, none at all everybody. */
export const ways = {
  none: [],
  session: [{ session: [] }],
  /** Nobody is an answer as well. */
  maybeSession: [{ session: [] }, {}],
  sessionOrApiKey: [{ session: [] }, { apiKey: [] }],
  apiKey: [{ apiKey: [] }],
  metricsToken: [{ metricsToken: [] }],
} as const satisfies Readonly<Record<string, readonly Readonly<Record<string, readonly string[]>>[]>>;

/** One of {@linkcode ways}. */
export type Security = keyof typeof ways;

/** @returns Whether one of the ways of a route is this one, and nobody is not let in. */
export function asksFor(security: Security, way: "session" | "apiKey"): boolean {
  const list: readonly Readonly<Record<string, readonly string[]>>[] = ways[security];
  return list.some((one) => way in one) && list.every((one) => Object.keys(one).length > 0);
}
