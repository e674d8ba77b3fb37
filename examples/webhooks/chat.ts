// Posts events to a chat: receives them from Gatehouse, and sends a sentence about each to an incoming webhook of Slack,
// Mattermost or another chat that takes {"text": "…"}.
//
//   WEBHOOK_SECRET=whsec_… CHAT_URL=https://chat.example.com/hooks/… deno run --allow-net --allow-env chat.ts 8002

import { verifyWebhook, WebhookError, type WebhookEvent } from "../../packages/client/src/index.ts";

interface Options {
  readonly secret: string;
  readonly clock?: () => number;
  readonly chatUrl: string;
}

/** Returns a handler of Gatehouse's requests. It responds with 2xx only after the chat has the message. */
export function chatHandler(
  { secret, clock = Date.now, chatUrl }: Options,
): (request: Request) => Promise<Response> {
  // An event can arrive more than once. Those posted a moment ago are left out.
  const posted = new Set<string>();
  return async (request) => {
    const id = request.headers.get("webhook-id") ?? "";
    let event: WebhookEvent;
    try {
      event = await verifyWebhook(await request.text(), { headers: request.headers, secret, now: clock() });
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      return new Response(error.message, { status: 400 });
    }
    if (posted.has(id)) return new Response(null, { status: 204 });
    const response = await fetch(chatUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text: sentenceAbout(event) }),
    });
    await response.body?.cancel();
    // Gatehouse tries again later.
    if (!response.ok) return new Response("the chat didn't take the message", { status: 502 });
    posted.add(id);
    if (posted.size > 1000) posted.delete(posted.values().next().value ?? "");
    return new Response(null, { status: 204 });
  };
}

/** Returns a message such as `Acme: limit.reached, requests of tiles, 1,000 of 1,000 per month`. Those of tests begin with `Test: `. */
export function sentenceAbout({ type, data }: WebhookEvent): string {
  const { organization, limit, used, apiKey, member, plan, statement, test } = data as Facts;
  const period = limit?.per === "total" ? "in total" : `per ${limit?.per}`;
  const about = [
    limit && `${limit.metric ?? "all metrics"} of ${limit.productSlug ?? "all products"}`,
    limit &&
    (limit.quantity === null ? "limit removed" : `${count(used ?? 0)} of ${count(limit.quantity)} ${period}`),
    apiKey?.name,
    member?.name,
    plan?.name,
    statement?.period,
  ].filter((text) => text !== undefined);
  return `${test ? "Test: " : ""}${organization ? `${organization.name}: ` : ""}${
    [type, ...about].join(", ")
  }`;
}

const count = (quantity: number) => quantity.toLocaleString("en-US", { maximumFractionDigits: 6 });

interface Facts {
  readonly organization?: { readonly name: string };
  readonly limit?: {
    productSlug: string | null;
    metric: string | null;
    quantity: number | null;
    per: string;
  };
  readonly used?: number;
  readonly apiKey?: { readonly name: string };
  readonly member?: { readonly name: string };
  readonly plan?: { readonly name: string };
  readonly statement?: { readonly period: string };
  readonly test?: true;
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
  const handler = chatHandler({ secret: setting("WEBHOOK_SECRET"), chatUrl: setting("CHAT_URL") });
  Deno.serve({ port: Number(Deno.args[0] ?? 8002), hostname: "127.0.0.1" }, handler);
}
