// What a browser's request looked like when it arrived, and whether that fits the settings: for finding out what a proxy does to
// requests. Cookies are counted and never shown.
import type { Verdict } from "./check_result.ts";
import { checkShownCharactersMax } from "./limits.ts";

/** A request as it arrived. Headers are null when they were not there. */
export interface BrowserRequest {
  /** The TCP peer's address. */
  readonly peer: string;
  /** Whether the settings trust the peer as a proxy. */
  readonly isPeerTrusted: boolean;
  readonly forwardedFor: string | null;
  /** The address that counts, in limits and in the audit log. */
  readonly address: string;
  /** Whether that is a trusted proxy's too: then nobody said for whom they ask. */
  readonly isAddressTrusted: boolean;
  readonly forwardedProto: string | null;
  readonly host: string | null;
  /** How many session cookies came along. */
  readonly sessionCookies: number;
  readonly userAgent: string | null;
  /** What came with a form; null when none was sent. */
  readonly form: { readonly origin: string | null; readonly site: string | null } | null;
}

/** One fact about a request. */
export interface RequestFact {
  readonly about: string;
  /** As it arrived, cut when it is long; null for nothing. */
  readonly seen: string | null;
  readonly expected: string;
  readonly verdict: Verdict;
  /** One sentence. */
  readonly meaning: string;
}

/**
 * @param request What arrived.
 * @param base `BASE_URL`.
 * @returns Every fact, with what it should be.
 */
export function requestFacts(request: BrowserRequest, base: URL): RequestFact[] {
  return [
    peerFact(request, base),
    forwardedFact(request),
    addressFact(request),
    schemeFact(request, base),
    hostFact(request, base),
    cookieFact(request),
    userAgentFact(request),
    ...(request.form === null ? [] : formFacts(request.form, base)),
  ].map((fact) => ({ ...fact, seen: shortened(fact.seen) }));
}

function peerFact({ peer, isPeerTrusted, forwardedFor }: BrowserRequest, base: URL): RequestFact {
  const fact = { about: "Connection from", seen: peer };
  if (isPeerTrusted) {
    const meaning = "It is one of TRUSTED_PROXIES: what it says about the address is believed.";
    return { ...fact, expected: "Your proxy", verdict: "ok", meaning };
  }
  if (forwardedFor !== null) {
    const meaning =
      "A proxy that is not in TRUSTED_PROXIES, or a browser that sends X-Forwarded-For by itself: it is not believed.";
    return { ...fact, expected: "An address in TRUSTED_PROXIES", verdict: "warning", meaning };
  }
  return base.protocol === "https:"
    ? {
      ...fact,
      expected: "An address in TRUSTED_PROXIES",
      verdict: "warning",
      meaning:
        "For https there must be a proxy, and it is not in TRUSTED_PROXIES: everybody counts as this address.",
    }
    : {
      ...fact,
      expected: "You, or your proxy",
      verdict: "ok",
      meaning: "No proxy is trusted, and none shows itself.",
    };
}

function forwardedFact({ forwardedFor, isPeerTrusted }: BrowserRequest): RequestFact {
  const fact = { about: "X-Forwarded-For", seen: forwardedFor };
  const expected = isPeerTrusted ? "Your own address last, before those of your proxies" : "Nothing";
  if (isPeerTrusted && forwardedFor === null) {
    const meaning = "The proxy does not say for whom it asks: everybody counts as the proxy.";
    return { ...fact, expected, verdict: "wrong", meaning };
  }
  if (!isPeerTrusted && forwardedFor !== null) {
    return {
      ...fact,
      expected,
      verdict: "warning",
      meaning: "It is left aside: whoever sent it is not trusted.",
    };
  }
  const meaning = isPeerTrusted
    ? "Read from the right, up to the first address that is not a trusted proxy."
    : "There is no proxy that could have sent it.";
  return { ...fact, expected, verdict: "ok", meaning };
}

function addressFact({ address, isAddressTrusted }: BrowserRequest): RequestFact {
  const fact = {
    about: "Your address",
    seen: address,
    expected: "The address of your own machine or network",
  };
  return isAddressTrusted
    ? {
      ...fact,
      verdict: "warning",
      meaning: "This is a proxy's: limits and the audit log cannot tell people apart.",
    }
    : { ...fact, verdict: "ok", meaning: "Limits and the audit log have this one." };
}

function schemeFact({ forwardedProto, isPeerTrusted }: BrowserRequest, base: URL): RequestFact {
  const fact = { about: "X-Forwarded-Proto", seen: forwardedProto, expected: base.protocol.slice(0, -1) };
  if (forwardedProto === null) {
    return { ...fact, verdict: "ok", meaning: "Nobody said; BASE_URL alone decides, so nothing is missing." };
  }
  const said = forwardedProto.split(",")[0]?.trim().toLowerCase();
  if (said === fact.expected) return { ...fact, verdict: "ok", meaning: "It fits BASE_URL." };
  return {
    ...fact,
    verdict: "warning",
    meaning: isPeerTrusted
      ? "The proxy was asked otherwise than BASE_URL says: open that address, or let the proxy lead there."
      : "It does not fit BASE_URL, and comes from somebody who is not trusted.",
  };
}

function hostFact({ host }: BrowserRequest, base: URL): RequestFact {
  const fact = { about: "Host", seen: host, expected: base.host };
  // With the scheme's own port it is the same host.
  const ownPort = base.protocol === "https:" ? ":443" : ":80";
  const fits = [base.host, base.port === "" ? base.host + ownPort : base.host];
  return fits.includes(host?.toLowerCase() ?? "")
    ? { ...fact, verdict: "ok", meaning: "It fits BASE_URL." }
    : {
      ...fact,
      verdict: "warning",
      meaning: "You opened another address than BASE_URL, or the proxy changes Host. Links lead to BASE_URL.",
    };
}

function cookieFact({ sessionCookies }: BrowserRequest): RequestFact {
  const fact = { about: "access_token cookies", seen: String(sessionCookies), expected: "1" };
  return sessionCookies === 1 ? { ...fact, verdict: "ok", meaning: "One, as it should be." } : {
    ...fact,
    verdict: "warning",
    meaning: "Another one is left of another domain, or another host set one: sign out and in again.",
  };
}

function userAgentFact({ userAgent }: BrowserRequest): RequestFact {
  const fact = { about: "User-Agent", seen: userAgent, expected: "Your browser's" };
  return userAgent === null
    ? {
      ...fact,
      verdict: "warning",
      meaning: "It is taken away on the way: the list of sessions cannot name devices.",
    }
    : { ...fact, verdict: "ok", meaning: "Sessions and the audit log name your device by it." };
}

function formFacts({ origin, site }: NonNullable<BrowserRequest["form"]>, base: URL): RequestFact[] {
  const isLost = origin === null && site === null;
  const lost = "Neither came: a proxy takes them away, and every form is refused.";
  const originFits = origin === base.origin;
  const siteFits = site === "same-origin";
  return [
    {
      about: "Origin of the form",
      seen: origin,
      expected: base.origin,
      verdict: isLost ? "wrong" : origin === null ? "warning" : originFits ? "ok" : "wrong",
      meaning: isLost
        ? lost
        : origin === null
        ? "It is taken away on the way: allowed origins cannot use the sign-in API."
        : originFits
        ? "It fits BASE_URL."
        : "Forms from there are refused: BASE_URL must be the address that you opened.",
    },
    {
      about: "Sec-Fetch-Site of the form",
      seen: site,
      expected: "same-origin",
      verdict: isLost ? "wrong" : site === null || siteFits ? "ok" : "wrong",
      meaning: isLost
        ? lost
        : site === null
        ? "Browsers leave it out on plain http; Origin is enough."
        : siteFits
        ? "The form came from the service's own page."
        : "The form came from another site: such forms are refused.",
    },
  ];
}

function shortened(text: string | null): string | null {
  return text === null || text.length <= checkShownCharactersMax
    ? text
    : `${text.slice(0, checkShownCharactersMax)}…`;
}
