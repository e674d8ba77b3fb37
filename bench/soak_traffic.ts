// The kinds of traffic that the soak mixes. To add one, add it to `kinds`.
import { cookieOf, testPassword } from "../tests/support/app/app.ts";
import { Ledger, type SentRequest } from "../tests/support/meter/ledger.ts";
import { sendRequest, sendVoid, signUpForLoad } from "../tests/support/meter/load.ts";
import { sendJson } from "../tests/support/process/journey.ts";
import type { Program } from "../tests/support/process/program.ts";
import type { Random } from "../tests/support/runner/random.ts";

/** A running program with a customer and an operator token. */
export interface Scene {
  readonly baseUrl: string;
  readonly random: Random;
  /** Everything that was recorded. */
  readonly ledger: Ledger;
  /** Of the customer's owner. */
  readonly cookie: string;
  readonly apiKeys: readonly string[];
  readonly token: string;
  /** The ids of revoked keys that the customer's webhook endpoint was told about. */
  readonly toldRevoked: ReadonlySet<string>;
  /** Resolves after the owner's last sign-in. More than a few at the same time would count as guesses. */
  readonly signedIn: { last: Promise<unknown> };
}

/** As of {@linkcode sendJson}. `expect`: the status, by default 200. */
export type RequestOptions = Parameters<typeof sendJson>[2] & { readonly expect?: number };

/** One turn of a kind of traffic. It counts and times each request. */
export interface Turn extends Scene {
  /** Sends a request in another way. It resolves to why it failed, or null. */
  time(send: () => Promise<string | null>): Promise<void>;
  request(path: string, options?: RequestOptions): Promise<Response>;
}

/** `share`: turns of a hundred. `everySeconds`: instead, the time between turns, at any rate of the others. */
export interface Kind {
  readonly share?: number;
  readonly everySeconds?: number;
  send(turn: Turn): Promise<unknown>;
}

const batchRecordsMax = 50;
const pages = "portal portal/usage portal/api-keys portal/members portal/audit portal/account/security docs";
const reports =
  "window=total window=day&groupBy=metric window=hour&groupBy=productSlug,metric,apiKey window=day&timezone=Europe/Berlin";
const exports = "usage.csv?window=hour&groupBy=productSlug,metric usage/records?limit=100";
const lists =
  "organizations?sort=name organizations?search=ada users?search=example audit? usage?groupBy=organization usage/records?limit=100";

export const kinds: readonly Kind[] = [
  { share: 36, send: (turn) => record(turn, turn.ledger.newSingle()) },
  { share: 6, send: (turn) => record(turn, turn.ledger.newBatch(batchRecordsMax)) },
  { share: 4, send: (turn) => record(turn, earlier(turn) ?? turn.ledger.newSingle()) },
  { share: 1, send: voidOne },
  { share: 21, send: ({ request, cookie }) => request("/api/auth/me", { cookie }) },
  { share: 12, send: verify },
  { share: 2, send: signInAndOut },
  { share: 7, send: ({ request, cookie, ...turn }) => request(`/${one(turn, pages)}`, { cookie }) },
  { share: 5, send: (turn) => turn.request(`/api/v1/usage?${one(turn, reports)}`, byKey(turn)) },
  { share: 2, send: (turn) => turn.request(`/api/v1/${one(turn, exports)}`, byKey(turn)) },
  { share: 4, send: (turn) => turn.request(`/api/operator/${one(turn, lists)}`, { apiKey: turn.token }) },
  // Not a share, because rejected keys are limited by client address.
  { everySeconds: 10, send: revoke },
];

const one = ({ random }: Pick<Scene, "random">, words: string) => random.pick(words.split(" "));
const byKey = ({ random, apiKeys }: Scene) => ({ apiKey: random.pick(apiKeys) });

/** Signs up a customer with limits, and creates an operator token. @param options `command`: runs one of the program. */
export async function prepare(
  { baseUrl }: Program,
  { random, command }: { random: Random; command: (...args: string[]) => Promise<string> },
): Promise<Scene> {
  const { organizationId, apiKeys, keyIds, cookie } = await signUpForLoad(baseUrl);
  const scopes = "organizations:read,organizations:write,keys:write,keys:verify,usage:read,usage:write";
  const token = await command("token", "create", "Soak", "--scope", `${scopes},users:read,audit:read`);
  const change = async (path: string, json: unknown) => {
    const response = await sendJson(baseUrl, path, { method: "PATCH", apiKey: token, json });
    if (response.status !== 200) throw new Error(await response.text());
  };
  const permissions = ["usage:read", "usage:void", "usage:write"];
  for (const id of keyIds) await change(`/api/operator/api-keys/${id}`, { permissions });
  // The ledger's quantities are too large for hard limits.
  const limits = ["hour", "day", "month"].flatMap((per) => [
    { productSlug: "tiles", metric: "requests", per, quantity: 1e15, mode: "soft" },
    { productSlug: "verified", metric: "requests", per, quantity: 1e15, mode: "hard" },
  ]);
  await change(`/api/operator/organizations/${organizationId}`, { overrides: { limits } });
  const ledger = new Ledger({ random, apiKeys, operator: { fullToken: token, target: { organizationId } } });
  const toldRevoked = await receiveWebhooks(baseUrl, cookie);
  return {
    baseUrl,
    random,
    ledger,
    cookie,
    apiKeys,
    token,
    toldRevoked,
    signedIn: { last: Promise.resolve() },
  };
}

/** Creates a webhook endpoint. @returns The ids of revoked keys; updated in place. */
async function receiveWebhooks(baseUrl: string, cookie: string): Promise<ReadonlySet<string>> {
  const told = new Set<string>();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    told.add((await request.json()).data.apiKey.id);
    return new Response(null, { status: 204 });
  });
  server.unref();
  const json = { url: `http://127.0.0.1:${server.addr.port}/`, events: ["api_key.revoked"] };
  const response = await sendJson(baseUrl, "/api/portal/webhooks", { method: "POST", cookie, json });
  if (response.status !== 201) throw new Error(await response.text());
  return told;
}

function record({ time, baseUrl, ledger }: Turn, request: SentRequest): Promise<void> {
  return time(async () => await sendRequest(baseUrl, { request, ledger }) ? null : "a record failed");
}

/** Returns an acknowledged request that may be repeated, if it finds one. */
function earlier({ ledger, random }: Scene): SentRequest | undefined {
  const some = Array.from({ length: 20 }, () => random.pick([undefined, ...ledger.requests.slice(-1_000)]));
  return some.find((request) => request?.isRepeatable && request.isAcknowledged);
}

async function voidOne({ time, baseUrl, ledger, random }: Turn): Promise<void> {
  if (ledger.singles.length === 0) return;
  await time(async () => await sendVoid(baseUrl, { ledger, random }) ? null : "a void failed");
}

/** Verifies a key with usage that fits into hard limits; every third time, records other usage. */
async function verify(turn: Turn): Promise<void> {
  const { ledger, random, token: apiKey } = turn;
  const sent = random.chance(1 / 3) ? ledger.newSingle(1, { isPlain: true }) : undefined;
  const [first] = sent?.records ?? [];
  // Verification records only the present.
  if (sent !== undefined && first?.json.timestamp !== undefined) return await record(turn, sent);
  const usage = first === undefined
    ? { productSlug: "verified", metric: "requests", quantity: 5 }
    : { ...first.json, record: true };
  const key = first?.apiKey ?? random.pick(turn.apiKeys);
  const response = await turn.request("/api/v1/keys/verify", { apiKey, json: { key, usage } });
  const { code, limits } = await response.json();
  if (code !== "VALID" || (first === undefined && limits.length !== 3)) {
    ledger.surprises.push(`a verification has ${code} and ${limits?.length} limits`);
  } else if (sent !== undefined && first !== undefined) {
    sent.isAcknowledged = first.isAcknowledged = true;
  }
}

function signInAndOut({ request, signedIn }: Turn): Promise<unknown> {
  const inTurn = async () => {
    const json = { email: "ada@example.com", password: testPassword };
    const cookie = cookieOf(await request("/api/auth/sign-in", { json }));
    await request("/api/auth/sign-out", { cookie, json: {}, expect: 204 });
    await request("/api/auth/sessions", { cookie, expect: 401 });
  };
  return signedIn.last = signedIn.last.then(inTurn, inTurn);
}

/** Revokes a key, which the next request rejects. */
async function revoke({ request, ledger, toldRevoked, cookie }: Turn): Promise<void> {
  const json = { name: "Short-lived" };
  const created = await request("/api/portal/api-keys", { cookie, json, expect: 201 });
  const { apiKey: { id }, fullKey: apiKey } = await created.json();
  await request("/api/v1/limits", { apiKey });
  await request(`/api/portal/api-keys/${id}`, { method: "DELETE", cookie });
  await request("/api/v1/limits", { apiKey, expect: 401 });
  // Not timed: the worker looks for events once a second.
  for (let tries = 0; tries < 100 && !toldRevoked.has(id); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  if (!toldRevoked.has(id)) ledger.surprises.push("a webhook didn't arrive within 10 seconds");
}
