// What the benchmark needs of a server: somebody who is signed in, with a key.
import { cookieOf, testPassword } from "../tests/support/app.ts";
import { sendJson } from "../tests/support/journey.ts";

/** @returns The session's cookie, a key, and the JSON of `GET /api/auth/me`. */
export async function prepare(
  baseUrl: string,
): Promise<{ cookie: string; apiKey: string; sessionUser: string }> {
  const json = { name: "Ada Lovelace", email: "ada@example.com", password: testPassword };
  const signUp = await sendJson(baseUrl, "/api/auth/sign-up", { json });
  const sessionUser = await signUp.text();
  if (signUp.status !== 201) throw new Error(sessionUser);
  const cookie = cookieOf(signUp);
  const created = await sendJson(baseUrl, "/api/portal/api-keys", { cookie, json: { name: "Benchmark" } });
  const { fullKey } = await created.json();
  return { cookie, apiKey: fullKey, sessionUser };
}
