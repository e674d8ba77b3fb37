// Cuts customers off when they reach a hard limit, and restores access when the limit has room again or its window ends.
//
//   WEBHOOK_SECRET=whsec_… deno run --allow-net --allow-env access.ts 8003
//
// Gatehouse itself rejects usage beyond a hard limit. This is for products that also want to stop serving.

import { verifyWebhook, WebhookError } from "../../packages/client/src/index.ts";

interface LimitEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly data: {
    readonly organization: { readonly id: string };
    readonly limit: { readonly id: string };
    /** Null for a limit in total, which ends only when it is raised. */
    readonly window: { readonly end: string } | null;
  };
}

interface LimitState {
  /** Of the newest event. */
  readonly at: number;
  /** When access returns by itself; 0 if the limit has room. In milliseconds since 1970. */
  readonly isFullUntil: number;
}

/** Knows which organizations are cut off. */
export class AccessList {
  readonly #states = new Map<string, Map<string, LimitState>>();

  /** Events arrive in no promised order and more than once: only the newest of a limit counts. */
  apply({ type, timestamp, data: { organization, limit, window } }: LimitEvent): void {
    if (type !== "limit.reached" && type !== "limit.cleared") return;
    const limits = this.#states.get(organization.id) ?? new Map<string, LimitState>();
    this.#states.set(organization.id, limits);
    const at = Date.parse(timestamp);
    if (at < (limits.get(limit.id)?.at ?? 0)) return;
    const end = window === null ? Infinity : Date.parse(window.end);
    limits.set(limit.id, { at, isFullUntil: type === "limit.reached" ? end : 0 });
  }

  /** Returns true while a hard limit of the organization is used completely. */
  isCutOff(organizationId: string, now = Date.now()): boolean {
    return [...this.#states.get(organizationId)?.values() ?? []].some((limit) => limit.isFullUntil > now);
  }

  /**
   * Reads the events of the last month, for a product that has just started. @param url Of Gatehouse. @param token An operator token with
   * the scope `events:read`.
   */
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
export function accessHandler(list: AccessList, secret: string): (request: Request) => Promise<Response> {
  return async (request) => {
    try {
      const event = await verifyWebhook(await request.text(), { headers: request.headers, secret });
      list.apply(event as unknown as LimitEvent);
      return new Response(null, { status: 204 });
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      return new Response(error.message, { status: 400 });
    }
  };
}

if (import.meta.main) {
  const list = new AccessList();
  const [token, url] = [Deno.env.get("OPERATOR_TOKEN"), Deno.env.get("GATEHOUSE_URL")];
  if (token !== undefined && url !== undefined) await list.load(url, token);
  const handler = accessHandler(list, Deno.env.get("WEBHOOK_SECRET") ?? "");
  Deno.serve({ port: Number(Deno.args[0] ?? 8003), hostname: "127.0.0.1" }, handler);
}
