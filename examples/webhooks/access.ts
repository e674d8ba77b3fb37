// Stops serving customers who reach a hard limit, until the limit has room again or its window ends. A limit of one product or
// metric stops only that. Budgets of API keys and alerts stop nothing.
//
//   WEBHOOK_SECRET=whsec_… OPERATOR_TOKEN=… GATEHOUSE_URL=https://auth.example.com \
//     deno run --allow-net --allow-env access.ts 8003
//
// Gatehouse itself rejects usage beyond a hard limit. This is for products that also want to stop serving.
//
// Three cases to know:
// - A record that is too large for the rest of a limit doesn't stop access: smaller ones still fit.
// - After a restart, the list is read from the events of the last 30 days. A limit in total (`per: "total"`) that was reached
//   earlier is missing. If you have such limits, keep the list in your database.
// - A limit by the minute or hour has one event a day: access stops until the end of the first window in which it is reached, and
//   not in later ones of that day.

import { verifyWebhook, WebhookError } from "../../packages/client/src/index.ts";

interface LimitEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly data: {
    readonly organization: { readonly id: string };
    /** `productSlug` is null for all products, `metric` for all metrics. */
    readonly limit: {
      readonly id: string;
      readonly productSlug: string | null;
      readonly metric: string | null;
    };
    /** Null for a limit in total, which ends only when it is raised. */
    readonly window: { readonly end: string } | null;
    /** Present if the limit is the budget of this key. */
    readonly apiKey?: { readonly id: string };
    /** Of `limit.reached`: `too_large` for a request that needed more than the rest. */
    readonly reason?: "full" | "too_large";
    readonly test?: true;
  };
}

/** A product and one of its metrics. */
export interface Use {
  readonly productSlug: string;
  readonly metric: string;
}

interface LimitState {
  readonly limit: LimitEvent["data"]["limit"];
  /** Of the newest event. */
  readonly at: number;
  /** When access returns by itself; 0 if the limit has room. In milliseconds since 1970. */
  readonly isFullUntil: number;
}

/** Knows which organizations are cut off. */
export class AccessList {
  readonly #states = new Map<string, Map<string, LimitState>>();

  /** Events arrive in no promised order and more than once: only the newest of a limit counts. */
  apply({ type, timestamp, data: { organization, limit, window, apiKey, reason, test } }: LimitEvent): void {
    if (type !== "limit.reached" && type !== "limit.cleared") return;
    if (apiKey !== undefined || reason === "too_large" || test) return;
    const limits = this.#states.get(organization.id) ?? new Map<string, LimitState>();
    this.#states.set(organization.id, limits);
    const at = Date.parse(timestamp);
    if (at < (limits.get(limit.id)?.at ?? 0)) return;
    const end = window === null ? Infinity : Date.parse(window.end);
    limits.set(limit.id, { limit, at, isFullUntil: type === "limit.reached" ? end : 0 });
  }

  /** Returns true while the organization has reached a hard limit that counts this use. */
  isCutOff(organizationId: string, use: Use, now = Date.now()): boolean {
    return [...this.#states.get(organizationId)?.values() ?? []].some(({ limit, isFullUntil }) =>
      isFullUntil > now && (limit.productSlug ?? use.productSlug) === use.productSlug &&
      (limit.metric ?? use.metric) === use.metric
    );
  }

  /** Reads the events of the last 30 days from Gatehouse, with an operator token that has the scope `events:read`. */
  async load(url: string, token: string): Promise<void> {
    for (const type of ["limit.reached", "limit.cleared"]) {
      let cursor: string | null = "";
      while (cursor !== null) {
        const query = new URLSearchParams({ type, limit: "100", ...(cursor !== "" && { cursor }) });
        const response = await fetch(`${url}/api/operator/events?${query}`, {
          headers: { authorization: `Bearer ${token}` },
        });
        if (!response.ok) throw new Error(`Gatehouse responded with ${response.status}`);
        const page: { events: LimitEvent[]; nextCursor: string | null } = await response.json();
        for (const event of page.events) this.apply(event);
        cursor = page.nextCursor;
      }
    }
  }
}

/** Returns a handler of Gatehouse's requests. */
export function accessHandler(
  list: AccessList,
  { secret, clock = Date.now }: { secret: string; clock?: () => number },
): (request: Request) => Promise<Response> {
  return async (request) => {
    try {
      const event = await verifyWebhook(await request.text(), {
        headers: request.headers,
        secret,
        now: clock(),
      });
      list.apply(event as unknown as LimitEvent);
      return new Response(null, { status: 204 });
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      return new Response(error.message, { status: 400 });
    }
  };
}

/** Returns an environment variable, or exits. */
function setting(name: string): string {
  const value = Deno.env.get(name);
  if (value) return value;
  // deno-lint-ignore no-console
  console.error(`Set ${name}.`);
  Deno.exit(1);
}

if (import.meta.main) {
  const list = new AccessList();
  const handler = accessHandler(list, { secret: setting("WEBHOOK_SECRET") });
  await list.load(setting("GATEHOUSE_URL"), setting("OPERATOR_TOKEN"));
  Deno.serve({ port: Number(Deno.args[0] ?? 8003), hostname: "127.0.0.1" }, handler);
}
