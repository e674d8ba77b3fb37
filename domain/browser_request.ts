// Compares a browser's request with the settings, to show how a proxy changes requests. Cookies are counted but never shown.
import type { Verdict } from "./check_result.ts";
import { checkShownCharactersMax } from "./check_limits.ts";

/** A request as it arrived. Missing headers are null. */
interface BrowserRequest {
  /** The TCP peer's address. */
  readonly peer: string;
  readonly isPeerTrusted: boolean;
  readonly forwardedFor: string | null;
  /** The client's address, for rate limits and the audit log. */
  readonly address: string;
  /** True if that is a trusted proxy's address as well. */
  readonly isAddressTrusted: boolean;
  readonly forwardedProto: string | null;
  readonly host: string | null;
  readonly sessionCookies: number;
  readonly userAgent: string | null;
  /** Headers of a submitted form; null when the page was only opened. */
  readonly form: { readonly origin: string | null; readonly site: string | null } | null;
}

export interface RequestFact {
  readonly about: string;
  /** The value, truncated if it is long; null if it is missing. */
  readonly seen: string | null;
  readonly expected: string;
  readonly verdict: Verdict;
  /** One sentence. */
  readonly meaning: string;
}

/**
 * Compares a request with its expected values.
 *
 * @param base `BASE_URL`.
 * @param options `withProxy`: includes facts that reveal the addresses of proxies, and whether they are trusted.
 */
export function requestFacts(
  request: BrowserRequest,
  base: URL,
  { withProxy }: { withProxy: boolean },
): RequestFact[] {
  return [
    ...(withProxy ? [peerFact(request, base), forwardedFact(request)] : []),
    ...(withProxy || isOwnAddress(request, base) ? [addressFact(request)] : []),
    ...(withProxy ? [schemeFact(request, base)] : []),
    hostFact(request, base),
    cookieFact(request),
    userAgentFact(request),
    ...(request.form === null ? [] : formFacts(request.form, base)),
  ];
}

/** True unless the address is known to be that of a proxy. */
function isOwnAddress(
  { isPeerTrusted, isAddressTrusted, forwardedFor }: BrowserRequest,
  base: URL,
): boolean {
  if (isPeerTrusted) return !isAddressTrusted;
  return forwardedFor === null && base.protocol !== "https:";
}

/** Returns functions that complete a fact with its verdict. */
function factAbout(about: string, { seen, expected }: { seen: string | null; expected: string }) {
  const isLong = seen !== null && seen.length > checkShownCharactersMax;
  const shortSeen = isLong ? `${seen.slice(0, checkShownCharactersMax)}…` : seen;
  const complete = (verdict: Verdict) => (meaning: string): RequestFact => (
    { about, seen: shortSeen, expected, verdict, meaning }
  );
  return { ok: complete("ok"), warning: complete("warning"), wrong: complete("wrong") };
}

function peerFact({ peer, isPeerTrusted, forwardedFor }: BrowserRequest, base: URL): RequestFact {
  const fact = (expected: string) => factAbout("Connection from", { seen: peer, expected });
  if (isPeerTrusted) return fact("Your proxy").ok("Listed in TRUSTED_PROXIES.");
  if (forwardedFor !== null) {
    return fact("An address in TRUSTED_PROXIES").warning(
      "Sends X-Forwarded-For but isn't in TRUSTED_PROXIES, so the header is ignored.",
    );
  }
  return base.protocol === "https:"
    ? fact("An address in TRUSTED_PROXIES").warning(
      "The proxy for https isn't in TRUSTED_PROXIES, so everyone appears to have this address.",
    )
    : fact("You, or your proxy").ok("No proxy is configured, and none was detected.");
}

function forwardedFact({ forwardedFor, isPeerTrusted }: BrowserRequest): RequestFact {
  const expected = isPeerTrusted ? "Your address, then your other proxies" : "Nothing";
  const fact = factAbout("X-Forwarded-For", { seen: forwardedFor, expected });
  if (isPeerTrusted) {
    return forwardedFor === null
      ? fact.wrong("The proxy doesn't send it, so everyone appears to have the proxy's address.")
      : fact.ok("Read from the right, up to the first address that isn't a trusted proxy.");
  }
  return forwardedFor === null
    ? fact.ok("No proxy is involved.")
    : fact.warning("Ignored because the sender isn't a trusted proxy.");
}

function addressFact({ address, isAddressTrusted }: BrowserRequest): RequestFact {
  const fact = factAbout("Your address", {
    seen: address,
    expected: "The address of your device or network",
  });
  return isAddressTrusted
    ? fact.warning("This is a proxy's address: rate limits and the audit log can't tell people apart.")
    : fact.ok("Used for rate limits and the audit log.");
}

function schemeFact({ forwardedProto, isPeerTrusted }: BrowserRequest, base: URL): RequestFact {
  const expected = base.protocol.slice(0, -1);
  const fact = factAbout("X-Forwarded-Proto", { seen: forwardedProto, expected });
  if (forwardedProto === null) return fact.ok("Not sent, and not needed: BASE_URL has the scheme.");
  if (forwardedProto.split(",")[0]?.trim().toLowerCase() === expected) return fact.ok("Matches BASE_URL.");
  return fact.warning(
    isPeerTrusted
      ? "The proxy received the request with a different scheme than BASE_URL. Redirect such requests to BASE_URL."
      : "Doesn't match BASE_URL, and the sender isn't a trusted proxy.",
  );
}

function hostFact({ host }: BrowserRequest, base: URL): RequestFact {
  const fact = factAbout("Host", { seen: host, expected: base.host });
  // Some proxies add the default port.
  const withPort = base.port === "" ? `${base.host}:${base.protocol === "https:" ? 443 : 80}` : base.host;
  return [base.host, withPort].includes(host?.toLowerCase() ?? "")
    ? fact.ok("Matches BASE_URL.")
    : fact.warning(
      "You opened an address other than BASE_URL, or the proxy changes Host. Links use BASE_URL.",
    );
}

function cookieFact({ sessionCookies }: BrowserRequest): RequestFact {
  const fact = factAbout("access_token cookies", { seen: String(sessionCookies), expected: "1" });
  return sessionCookies === 1 ? fact.ok("Your session.") : fact.warning(
    "Another cookie is left from an earlier domain or set by another host. Sign out and in again.",
  );
}

function userAgentFact({ userAgent }: BrowserRequest): RequestFact {
  const fact = factAbout("User-Agent", { seen: userAgent, expected: "Your browser's" });
  return userAgent === null
    ? fact.warning("Removed on the way, so the list of sessions can't name devices.")
    : fact.ok("Identifies your device in sessions and the audit log.");
}

function formFacts({ origin, site }: NonNullable<BrowserRequest["form"]>, base: URL): RequestFact[] {
  const originFact = factAbout("Origin of the form", { seen: origin, expected: base.origin });
  const siteFact = factAbout("Sec-Fetch-Site of the form", { seen: site, expected: "same-origin" });
  if (origin === null && site === null) {
    const meaning = "Neither header arrived: a proxy removes them, so all forms are rejected.";
    return [originFact.wrong(meaning), siteFact.wrong(meaning)];
  }
  return [
    origin === null
      ? originFact.warning("Removed on the way, so allowed origins can't use the sign-in API.")
      : origin === base.origin
      ? originFact.ok("Matches BASE_URL.")
      : originFact.wrong("Forms from this origin are rejected. Set BASE_URL to the address that you opened."),
    site === null
      ? siteFact.ok("Browsers leave it out on plain http. Origin is enough.")
      : site === "same-origin"
      ? siteFact.ok("The form came from this service.")
      : siteFact.wrong("The form came from another site. Such forms are rejected."),
  ];
}
