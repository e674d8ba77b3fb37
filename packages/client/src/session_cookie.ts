// Finds the session cookies in a request, so that nothing else of it leaves the product.

const cookieName = "access_token";

/** Headers of a request: `Headers`, or an object such as `request.headers` in Node.js. */
export type RequestHeaders =
  | Pick<Headers, "get">
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request, as Fetch or Node.js has it, or its headers. */
export type RequestLike = { readonly headers: RequestHeaders } | RequestHeaders;

/**
 * Finds the session cookies of a request: all of them, because another subdomain can plant one, and Gatehouse knows which one
 * is valid. Returns a `Cookie` header with nothing else, or null.
 */
export function sessionCookies(request: RequestLike): string | null {
  const cookies = cookieHeader(request).split(";").map((cookie) => cookie.trim())
    // A header can't carry other characters. Gatehouse's own tokens are ASCII.
    .filter((cookie) => cookie.startsWith(`${cookieName}=`) && /^[\x20-\x7e]+$/.test(cookie));
  return cookies.length === 0 ? null : cookies.join("; ");
}

function cookieHeader(request: RequestLike): string {
  const { headers: inner } = request as { headers?: unknown };
  const headers = (typeof inner === "object" && inner !== null ? inner : request) as RequestHeaders;
  return headerValues(headers, "cookie").join("; ");
}

/** Returns the values of a header. @param name In lower case. */
export function headerValues(headers: RequestHeaders, name: string): readonly string[] {
  if (typeof headers.get === "function") return [headers.get(name) ?? []].flat();
  const values = Object.entries(headers).filter(([given]) => given.toLowerCase() === name);
  return values.flatMap(([, value]) => value as string | string[] ?? []);
}
