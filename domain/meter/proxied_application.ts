// Parses an application behind a reverse proxy, as given on the command line. The parts are copied into the proxy's
// configuration, so they must contain no special characters.

export interface ProxiedApplication {
  /** The public host name, in lower case. It has the scheme and port of `BASE_URL`. */
  readonly host: string;
  /** Host and port for the proxy to connect to. */
  readonly address: string;
  /** The query of `/api/auth/forward`, without the question mark. Never empty. */
  readonly query: string;
  /** Requests are metered, so the proxy must send exactly one subrequest for each. */
  readonly isMetered: boolean;
}

export interface ProxyPlacement {
  /** The host of `BASE_URL`. */
  readonly host: string;
  readonly secure: boolean;
  /** The port that browsers connect to. */
  readonly publicPort: number;
  /** Gatehouse's own address, such as `127.0.0.1:8000`. */
  readonly upstream: string;
}

const hostForm = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;
const addressForm = /^([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):([1-9]\d{0,4})$/;

/**
 * Splits `HOST=ADDRESS[?CONDITIONS]`. Returns null for any other form. The conditions are not checked.
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
