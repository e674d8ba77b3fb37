// Creates the account and API keys that the benchmark uses.
import { cookieOf, testPassword } from "../tests/support/app/app.ts";
import { sendJson } from "../tests/support/process/journey.ts";

/** A signed-in user with API keys. */
export interface Account {
  readonly cookie: string;
  readonly apiKeys: readonly { readonly id: string; readonly fullKey: string }[];
  /** The JSON of `GET /api/auth/me`. */
  readonly sessionUser: string;
}

/** Signs up with {@linkcode testPassword} and creates API keys. @param options `keys`: how many keys to create. */
export async function signUp(
  baseUrl: string,
  { email = "ada@example.com", keys }: { email?: string; keys: number },
): Promise<Account> {
  const json = { name: "Ada Lovelace", email, password: testPassword };
  const response = await sendJson(baseUrl, "/api/auth/sign-up", { json });
  const sessionUser = await response.text();
  if (response.status !== 201) throw new Error(sessionUser);
  const cookie = cookieOf(response);
  const apiKeys: { id: string; fullKey: string }[] = [];
  for (let n = 1; n <= keys; n++) {
    const created = await sendJson(baseUrl, "/api/portal/api-keys", { cookie, json: { name: `Key ${n}` } });
    if (created.status !== 201) throw new Error(await created.text());
    const { apiKey: { id }, fullKey } = await created.json();
    apiKeys.push({ id, fullKey });
  }
  return { cookie, apiKeys, sessionUser };
}

/** @returns The number of records of a key since yesterday. */
export async function countRecords(baseUrl: string, apiKey: Account["apiKeys"][number]): Promise<number> {
  const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const query = new URLSearchParams({ from: day(-1), to: day(2), window: "total", apiKey: apiKey.id });
  const response = await sendJson(baseUrl, `/api/v1/usage?${query}`, { apiKey: apiKey.fullKey });
  if (response.status !== 200) throw new Error(await response.text());
  const { data } = await response.json() as { data: { count: number }[] };
  return data.reduce((sum, { count }) => sum + count, 0);
}
