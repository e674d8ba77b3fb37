// Webhooks of Portkey's AI gateway. Before a request, they hold the most tokens that it may use; after it, they settle with what it
// used. A request without room never reaches the model.
//
//   GATEHOUSE_URL=https://auth.example.com GATEHOUSE_OPERATOR_TOKEN=… WEBHOOK_SECRET=… \
//     deno run --allow-net --allow-env gateway.ts 8004
//
// The operator token needs the scope `usage:write`. docs/portkey.md has Portkey's configuration.
//
// Three cases to know:
// - Portkey calls no webhook after a failed request. Its hold expires after 10 minutes, and nothing is charged.
// - The webhook after a streamed request has no usage, so streams are denied.
// - Portkey calls no webhook for other endpoints, such as `/v1/responses`. Pass only `/v1/chat/completions` to it.

import {
  Gatehouse,
  GatehouseError,
  type HeldUsage,
  RateLimitError,
} from "../../packages/client/src/index.ts";

/** The parts of Portkey's webhooks that this receiver reads. */
interface PortkeyEvent {
  readonly eventType: "beforeRequestHook" | "afterRequestHook";
  readonly requestType: string;
  readonly request: { readonly json: ChatRequest; readonly isStreamingRequest: boolean };
  readonly response: { readonly json: { readonly usage?: ChatUsage } | null };
  /** The header `x-portkey-metadata`, which only a trusted caller may set. */
  readonly metadata: { readonly customer?: unknown };
}

interface ChatRequest {
  readonly model?: unknown;
  readonly n?: unknown;
  readonly max_tokens?: unknown;
  readonly max_completion_tokens?: unknown;
  /** Set before the request. Portkey keeps it for the webhook after it, and doesn't send it to the model. */
  readonly gatehouse?: Held;
}

interface ChatUsage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
}

interface Held {
  readonly hold: string;
  readonly input: number;
  readonly output: number;
}

interface Verdict {
  readonly verdict: boolean;
  /** The client finds it in `hook_results`. */
  readonly data?: { readonly code: string; readonly message: string; readonly retryAfterMs?: number | null };
  readonly transformedData?: { readonly request: { readonly json: ChatRequest } };
}

interface PortkeyOptions {
  /** Portkey sends it as `Authorization: Bearer`. */
  readonly secret: string;
  /** The most output of a request that names no limit of its own. */
  readonly outputTokensMax?: number;
}

/** Returns a handler of Portkey's webhooks. */
export function portkeyHandler(
  gatehouse: Gatehouse,
  { secret, outputTokensMax = 4_096 }: PortkeyOptions,
): (request: Request) => Promise<Response> {
  return async (request) => {
    if (!await isSame(request.headers.get("authorization") ?? "", `Bearer ${secret}`)) {
      return new Response(null, { status: 401 });
    }
    const event: PortkeyEvent = await request.json();
    const act = event.eventType === "beforeRequestHook"
      ? () => holdRoom(gatehouse, event, outputTokensMax)
      : () => settle(gatehouse, event);
    return Response.json(await act().catch(verdictOf));
  };
}

async function holdRoom(
  gatehouse: Gatehouse,
  { request, requestType, metadata }: PortkeyEvent,
  outputTokensMax: number,
): Promise<Verdict> {
  const { json } = request;
  if (requestType !== "chatComplete" || request.isStreamingRequest) {
    return denied("unsupported", "Use chat completions without streaming.");
  }
  const { customer } = metadata;
  if (typeof customer !== "string" || customer === "") {
    return denied("no_customer", "The metadata names no customer.");
  }
  const each = [json.max_tokens ?? 0, json.max_completion_tokens ?? 0, json.n ?? 1];
  if (!each.every((value) => Number.isSafeInteger(value) && Number(value) >= 0)) {
    return denied("invalid_request", "max_tokens, max_completion_tokens and n must be whole numbers.");
  }
  const [maxTokens = 0, maxCompletionTokens = 0, choices = 1] = each.map(Number);
  const ownMax = Math.max(maxTokens, maxCompletionTokens);
  const { gatehouse: _forged, ...own } = json;
  const limited = ownMax > 0 ? own : { ...own, max_completion_tokens: outputTokensMax };
  // A token of text has at least one byte.
  const input = new TextEncoder().encode(JSON.stringify(own)).length;
  const output = (ownMax > 0 ? ownMax : outputTokensMax) * Math.max(1, choices);
  const { hold } = await gatehouse.hold({ ...customerOf(customer), usage: tokens(json, input, output) });
  return {
    verdict: true,
    transformedData: { request: { json: { ...limited, gatehouse: { hold: hold.id, input, output } } } },
  };
}

async function settle(gatehouse: Gatehouse, { request: { json }, response }: PortkeyEvent): Promise<Verdict> {
  if (json.gatehouse === undefined) return denied("no_hold", "The request has no hold.");
  const { hold, input, output } = json.gatehouse;
  const { prompt_tokens: prompt = input, completion_tokens: completion = output } = response.json?.usage ??
    {};
  const usage = tokens(json, prompt, completion);
  // Settling twice has no effect.
  await gatehouse.settle(hold, usage).catch(() => gatehouse.settle(hold, usage));
  return { verdict: true };
}

/** An organization, one of its API keys, or your own id of the customer. */
function customerOf(customer: string) {
  if (/^org_[0-9a-f]{32}$/.test(customer)) return { organizationId: customer };
  return /^key_[0-9a-f]{32}$/.test(customer) ? { apiKeyId: customer } : { externalId: customer };
}

function tokens({ model }: ChatRequest, input: number, output: number): HeldUsage[] {
  const of = (type: string, quantity: number) => ({
    product: "models",
    metric: "tokens",
    quantity,
    properties: { model: String(model).slice(0, 100), type },
  });
  return [of("input", input), of("output", output)];
}

/** If Gatehouse can't be asked, the request is denied, too. */
function verdictOf(error: unknown): Verdict {
  if (!(error instanceof GatehouseError)) throw error;
  const { code, message } = error;
  const wait = error instanceof RateLimitError ? { retryAfterMs: error.retryAfterMs } : {};
  return { verdict: false, data: { code, message, ...wait } };
}

function denied(code: string, message: string): Verdict {
  return { verdict: false, data: { code, message } };
}

/** Compares hashes, so that the time says nothing about the secret. */
async function isSame(a: string, b: string): Promise<boolean> {
  const hash = async (text: string) =>
    new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  const [left, right] = await Promise.all([hash(a), hash(b)]);
  return left.every((byte, i) => byte === right[i]);
}

if (import.meta.main) {
  const secret = Deno.env.get("WEBHOOK_SECRET");
  // deno-lint-ignore no-console
  if (!secret) console.error("Set WEBHOOK_SECRET.");
  if (!secret) Deno.exit(1);
  const gatehouse = new Gatehouse({ timeoutMs: 1_000 });
  Deno.serve(
    { port: Number(Deno.args[0] ?? 8004), hostname: "127.0.0.1" },
    portkeyHandler(gatehouse, { secret }),
  );
}
