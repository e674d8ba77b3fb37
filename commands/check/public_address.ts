// Checks the deployment as a browser sees it: every request goes to the public address, through any proxy in front of the server.
// It only reads, and doesn't sign anyone out.
import pLimit from "p-limit";
import type { Config } from "../../config.ts";
import type { AllowedOrigin } from "../../domain/allowed_origin.ts";
import { type CheckResult, resultsOf } from "../../domain/check_result.ts";
import { checkRequestsAtOnceMax, checkTimeoutMs } from "../../domain/check_limits.ts";
import { isBehindProxy, upstreamOf } from "../proxy/configuration.ts";
import { attempt, type Send, withoutBody } from "./request.ts";
import { exampleOrigin } from "./settings.ts";
import { checkCookiesArrive, checkLongRedirect } from "./sizes.ts";
import { checkClock, type ClockReading, reasonOf } from "./time.ts";

const publicAddress = resultsOf("Public address", { isForProxy: true });

/** True if a server responds on the configured port, bypassing any proxy. */
export async function isServerRunning(config: Config, send: Send): Promise<boolean> {
  if (config.port === 0) return false;
  try {
    const response = await withoutBody(request(send, `http://${upstreamOf(config)}/health/ready`));
    return isGatehouse(response);
  } catch {
    return false;
  }
}

/** @param options `isRunning`: the server responds without a proxy. */
export async function checkPublicAddress(
  config: Config,
  options: { isRunning: Promise<boolean>; send: Send },
): Promise<CheckResult[]> {
  const { origin } = config.baseUrl;
  const limit = pLimit(checkRequestsAtOnceMax);
  const send: Send = (address, init) => limit(() => request(options.send, address, init));
  const askedAt = Date.now();
  let ready: Response;
  try {
    ready = await send(`${origin}/health/ready`);
  } catch (error) {
    return [await unreachableResult(config, { isRunning: options.isRunning, reason: reasonOf(error) })];
  }
  const answeredAt = Date.now();
  const problem = readyProblem(config, { ready, body: await ready.text() });
  if (problem !== null) return [problem];
  const results = await Promise.all([
    checkPageHeaders(config, send),
    checkCompression(config, send),
    checkCookie(config, send),
    checkCookiesArrive(config, send),
    checkLongRedirect(config, send),
    checkForeignOrigin(config, send),
    ...config.allowedOrigins.map((allowed) => checkCors(config, { allowed, send })),
    checkHttpsRedirect(config, send),
    checkForwardedFor(config, send),
  ]);
  return [
    publicAddress.ok(`${origin} reaches the server, and it is ready.`),
    ...checkDate(ready, { askedAt, answeredAt }),
    ...results.filter((result) => result !== null),
  ];
}

function request(send: Send, address: string, init: RequestInit = {}): Promise<Response> {
  return send(address, { redirect: "manual", ...init, signal: AbortSignal.timeout(checkTimeoutMs) });
}

function isGatehouse(response: Response): boolean {
  return response.headers.get("x-request-id")?.startsWith("req_") === true;
}

async function unreachableResult(
  config: Config,
  { isRunning, reason }: { isRunning: Promise<boolean>; reason: string },
): Promise<CheckResult> {
  const saw = `${config.baseUrl.origin} is not reachable: ${reason}`;
  const upstream = upstreamOf(config);
  if (await isRunning) {
    // Neither a certificate nor a name comes from the configuration that the command prints.
    if (/invalid peer certificate/.test(reason)) {
      return resultsOf("Public address").wrong(
        saw,
        `The server itself responds at ${upstream}. Install a valid certificate for ${config.baseUrl.hostname}. For your ` +
          "own certificate authority, run this command with DENO_CERT=/path/to/authority.pem.",
      );
    }
    if (/dns error/.test(reason)) {
      return resultsOf("Public address").wrong(
        saw,
        `The server itself responds at ${upstream}. Add ${config.baseUrl.hostname} to DNS.`,
      );
    }
    return publicAddress.wrong(
      saw,
      `The server itself responds at ${upstream}. Check the proxy, and the address that DNS has for it.`,
    );
  }
  return resultsOf("Public address").warning(
    saw,
    config.port === 0
      ? "With PORT=0 only the server knows its port: choose a port."
      : `Nothing responds at ${upstream} either. Start the server, then run this command again to check what ` +
        "browsers see (headers, cookies, allowed origins, clock).",
  );
}

/** Returns null if the server is ready. */
function readyProblem(
  config: Config,
  { ready, body }: { ready: Response; body: string },
): CheckResult | null {
  const { baseUrl } = config;
  const isOurs = isGatehouse(ready);
  if (ready.status === 200 && isOurs && /"status"\s*:\s*"ok"/.test(body)) return null;
  const saw = `${baseUrl.origin}/health/ready returns ${ready.status}`;
  if (isOurs && ready.status === 503) {
    const reason = /"reason"\s*:\s*"([a-z_]{1,50})"/.exec(body)?.[1];
    const advice = "Check the database first, then the server's log.";
    return resultsOf("Public address").wrong(
      `${saw}: the server responds but is not ready${reason === undefined ? "" : ` (${reason})`}.`,
      advice,
    );
  }
  const location = ready.headers.get("location");
  const movedTo = redirectedOrigin(location, baseUrl);
  if (movedTo !== null) {
    const advice = `If people use that address, set BASE_URL=${movedTo}`;
    return resultsOf("Public address").wrong(`${saw} and redirects to ${movedTo}.`, advice);
  }
  const redirect = location === null ? "" : ` and redirects to ${location}`;
  return publicAddress.wrong(
    `${saw}${redirect}: another server responds, or the proxy removes this server's headers.`,
    `Configure the proxy to forward all of ${baseUrl.host} to ${upstreamOf(config)}, with every header.`,
  );
}

/** Returns the origin of a redirect to the same page at another address (https or another name), or null. */
function redirectedOrigin(location: string | null, baseUrl: URL): string | null {
  if (location === null || !URL.canParse(location, baseUrl)) return null;
  const { origin, pathname } = new URL(location, baseUrl);
  return pathname === "/health/ready" && origin !== baseUrl.origin ? origin : null;
}

function checkDate(ready: Response, times: Omit<ClockReading, "at">): CheckResult[] {
  const at = Date.parse(ready.headers.get("date") ?? "");
  return Number.isNaN(at) ? [] : [checkClock("the public address", { at, ...times })];
}

/** Checks the headers of a page that keep out other sites and caches. */
async function checkPageHeaders({ baseUrl, secure }: Config, send: Send): Promise<CheckResult> {
  return await attempt("Headers of pages", async (result) => {
    const { status, headers } = await withoutBody(send(`${baseUrl.origin}/sign-in`));
    const problems: string[] = [];
    const policy = headers.get("content-security-policy");
    if (policy === null) problems.push("Content-Security-Policy is missing");
    else if (!policy.startsWith("default-src 'none'") || policy.split("default-src").length > 2) {
      problems.push("Content-Security-Policy is not the server's");
    }
    const hsts = headers.get("strict-transport-security");
    if (secure && hsts === null) problems.push("Strict-Transport-Security is missing");
    if (hsts?.includes(",")) problems.push("Strict-Transport-Security is duplicated");
    if (!headers.get("cache-control")?.includes("no-store")) problems.push("Cache-Control lacks no-store");
    if (headers.get("x-content-type-options") !== "nosniff") {
      problems.push("X-Content-Type-Options is not nosniff");
    }
    if (status !== 200) problems.push(`the status is ${status}`);
    return problems.length === 0
      ? result.ok(`/sign-in has all its headers${secure ? ", including HSTS" : ""}.`)
      : result.wrong(
        `/sign-in: ${problems.join("; ")}.`,
        "Configure the proxy to forward the server's headers unchanged.",
      );
  });
}

/** Checks for compression. The runtime decompresses a response and removes its length, which shows in comparison. */
async function checkCompression({ baseUrl }: Config, send: Send): Promise<CheckResult> {
  return await attempt("Compression", async (result) => {
    const [plain, packed] = await Promise.all(
      ["identity", "gzip, br"].map((encoding) =>
        withoutBody(send(`${baseUrl.origin}/sign-in`, { headers: { "Accept-Encoding": encoding } }))
      ),
    );
    const isPacked = packed?.headers.has("content-encoding") ||
      (plain?.headers.has("content-length") === true && packed?.headers.has("content-length") === false);
    return isPacked
      ? result.warning(
        "The proxy compresses pages, though the server forbids it (no-transform): the size can reveal secrets.",
        "Turn compression off in the proxy for this host (nginx: gzip off; Caddy: no encode).",
      )
      : result.ok("Pages arrive as the server sends them.");
  });
}

/** Checks the cookie's attributes: signing out without a session clears the cookie with the attributes it is set with. */
async function checkCookie(
  { baseUrl, secure, cookieDomain }: Config,
  send: Send,
): Promise<CheckResult> {
  return await attempt("Cookie", async (result) => {
    const { status, headers } = await withoutBody(
      send(`${baseUrl.origin}/api/auth/sign-out`, { method: "POST", headers: { Origin: baseUrl.origin } }),
    );
    if (status === 403) {
      return result.wrong(
        `Requests from ${baseUrl.origin} are rejected as cross-site, so no one can sign in.`,
        "Configure the proxy to forward Origin and Sec-Fetch-Site unchanged.",
      );
    }
    const cookies = headers.getSetCookie().filter((cookie) => cookie.startsWith("access_token="));
    if (cookies.length === 0) {
      return result.wrong(
        `Set-Cookie does not arrive (status ${status}).`,
        "Configure the proxy to forward it.",
      );
    }
    const required = ["HttpOnly", "SameSite=Lax", "Path=/", ...(secure ? ["Secure"] : [])];
    const domain = cookieDomain === undefined ? [] : [`Domain=${cookieDomain}`];
    const missing = required.filter((one) => !cookies.every((cookie) => hasAttribute(cookie, one)));
    if (!hasDomain(cookies, cookieDomain)) {
      missing.push(cookieDomain === undefined ? "no Domain" : `${domain[0]} on one of two`);
    }
    return missing.length === 0
      ? result.ok(`Its attributes are ${[...required, ...domain].join(", ")}.`)
      : result.wrong(`It lacks ${missing.join(", ")}.`, "Configure the proxy to leave Set-Cookie unchanged.");
  });
}

function hasAttribute(cookie: string, attribute: string): boolean {
  return cookie.split(/;\s*/).some((one) => equal(one, attribute));
}

/** True if exactly the cookie for the domain names it; the other one clears the host's own cookie. */
function hasDomain(cookies: readonly string[], cookieDomain: string | undefined): boolean {
  const domains = cookies.flatMap((cookie) => /;\s*domain=([^;]*)/i.exec(cookie)?.[1] ?? []);
  if (cookieDomain === undefined) return domains.length === 0;
  return domains.length === 1 && equal(domains[0]?.replace(/^\./, "") ?? "", cookieDomain.slice(1));
}

async function checkForeignOrigin({ baseUrl }: Config, send: Send): Promise<CheckResult> {
  return await attempt("Other origins", async (result) => {
    const headers = { Origin: "https://gatehouse-check.invalid" };
    const response = await withoutBody(send(`${baseUrl.origin}/api/auth/me`, { headers }));
    const allowed = response.headers.get("access-control-allow-origin");
    return allowed === null ? result.ok("Origins that are not allowed are rejected.") : result.wrong(
      `An origin that is not allowed receives Access-Control-Allow-Origin: ${allowed.slice(0, 100)}`,
      "Remove every Access-Control header from the proxy's configuration: the server sends them itself.",
    );
  });
}

/** Checks the preflight and the request that a browser sends from an allowed origin. */
async function checkCors(
  { baseUrl }: Config,
  { allowed, send }: { allowed: AllowedOrigin; send: Send },
): Promise<CheckResult> {
  return await attempt(`CORS for ${allowed.text}`, async (result) => {
    const { origin } = exampleOrigin(allowed);
    const address = `${baseUrl.origin}/api/auth/me`;
    const preflight = { Origin: origin, "Access-Control-Request-Method": "GET" };
    const [before, response] = await Promise.all([
      withoutBody(send(address, { method: "OPTIONS", headers: preflight })),
      withoutBody(send(address, { headers: { Origin: origin } })),
    ]);
    const problems = [
      ...corsProblems("the preflight", before, origin),
      ...corsProblems("the response", response, origin),
    ];
    return problems.length === 0
      ? result.ok("The preflight and the response have the headers that browsers need.")
      : result.wrong(
        `${problems.join("; ")}.`,
        "Configure the proxy to forward Origin and OPTIONS, and to leave Vary and Access-Control headers unchanged.",
      );
  });
}

function corsProblems(name: string, { headers, status, ok }: Response, origin: string): string[] {
  const problems: string[] = [];
  if (!ok) problems.push(`${name} is ${status}`);
  const allowed = headers.get("access-control-allow-origin");
  if (allowed === null) problems.push(`${name} lacks Access-Control-Allow-Origin`);
  else if (allowed !== origin) {
    problems.push(`${name} has Access-Control-Allow-Origin: ${allowed.slice(0, 100)} instead of ${origin}`);
  }
  if (headers.get("access-control-allow-credentials") !== "true") {
    problems.push(`${name} lacks Access-Control-Allow-Credentials: true`);
  }
  const vary = headers.get("vary")?.split(/,\s*/) ?? [];
  if (!vary.some((one) => equal(one, "origin"))) problems.push(`${name} lacks Vary: Origin`);
  return problems;
}

/** Checks whether plain http redirects to https, unless https has a port of its own. */
async function checkHttpsRedirect(
  { baseUrl, secure }: Config,
  send: Send,
): Promise<CheckResult | null> {
  if (!secure || baseUrl.port !== "") return null;
  const address = `http://${baseUrl.hostname}/sign-in`;
  return await attempt("Plain http", async (result) => {
    const response = await withoutBody(send(address)).catch(() => null);
    if (response === null) return result.ok(`Nothing responds at ${address}.`);
    const { status, headers } = response;
    const isRedirect = status >= 300 && status < 400 &&
      headers.get("location")?.startsWith(`${baseUrl.origin}/`) === true;
    return isRedirect ? result.ok(`${address} redirects to https.`) : result.wrong(
      `${address} returns ${status} and does not redirect to https.`,
      `Configure the proxy to redirect (301) to ${baseUrl.origin}`,
    );
  });
}

/** Checks X-Forwarded-For: without a token, only requests that arrive without it can read the metrics. */
async function checkForwardedFor(config: Config, send: Send): Promise<CheckResult | null> {
  const { baseUrl, metricsToken } = config;
  if (metricsToken !== undefined || !isBehindProxy(config)) return null;
  return await attempt("X-Forwarded-For", async (result) => {
    const { status } = await withoutBody(send(`${baseUrl.origin}/metrics`));
    return status === 200
      ? result.wrong(
        "The proxy does not send it, so every client counts as this machine and can read /metrics.",
        "Configure the proxy to send X-Forwarded-For, and set METRICS_TOKEN.",
      )
      : result.ok(
        "The proxy sends it, or does not forward /metrics, or runs on another machine. Your sessions on the Security page show which address arrives.",
      );
  });
}

function equal(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
