// An application that a reverse proxy asks Gatehouse about, as it is written at the command line. What is parsed here goes
// into the configuration of a proxy as it is: nothing in it may mean anything there.

/** An application behind a proxy. */
export interface ProxiedApplication {
  /** The public host name, in lower case. It has the scheme and port of `BASE_URL`. */
  readonly host: string;
  /** Where the proxy reaches it: host and port. */
  readonly address: string;
  /** What the proxy asks for: the query of `/api/auth/forward`, without its question mark. Never empty. */
  readonly query: string;
  /** API keys are counted: each request must be asked about once. */
  readonly isMetered: boolean;
}

const hostForm = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;
const addressForm = /^([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):([1-9]\d{0,4})$/;

/**
 * Takes `HOST=ADDRESS[?CONDITIONS]` apart.
 *
 * @returns The parts, with the conditions as they were written; or null when it has another form.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.deepEqual(splitApplication("app.example.com=127.0.0.1:3000?role=ADMIN"), {
 *   host: "app.example.com",
 *   address: "127.0.0.1:3000",
 *   conditions: "role=ADMIN",
 * });
 * assert.equal(splitApplication("app.example.com"), null);
 * ```
 */
export function splitApplication(
  text: string,
): { readonly host: string; readonly address: string; readonly conditions: string } | null {
  const [, host = "", address = "", conditions = ""] = /^([^=]*)=([^?]*)(?:\?(.*))?$/s.exec(text) ?? [];
  const port = Number(addressForm.exec(address)?.[2] ?? 0);
  if (!hostForm.test(host.toLowerCase()) || port < 1 || port > 65_535) return null;
  return { host: host.toLowerCase(), address, conditions };
}
