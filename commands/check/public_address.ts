// The deployment as a browser meets it: every request goes to the public address, through whatever stands before the server.
// Nothing is changed: it reads, and signs nobody out.
import pLimit from "p-limit";
import type { AllowedOrigin } from "../../config.ts";
import type { Finding } from "../../domain/check_result.ts";
import { checkRequestsAtOnceMax, checkTimeoutMs } from "../../domain/limits.ts";
import { attempt, emptied, type PublicSettings, type Send } from "./request.ts";
import { exampleOrigin } from "./settings.ts";
import { arrivalFinding, longRedirectFinding } from "./sizes.ts";
import { clockFinding, type ClockReading, reasonOf } from "./time.ts";
import { isBehindProxy, upstreamOf } from "../proxy/configuration.ts";

/** @returns Whether a server answers on the port of the settings, without anything before it. */
export async function serverAnswers(config: PublicSettings, send: Send = fetch): Promise<boolean> {
  return config.port !== 0 && await isGatehouse(ask(send, `http://${upstreamOf(config)}/health/ready`));
}

/**
 * @param options `running`: whether the server answers without anything before it. `send`: instead of `fetch`.
 * @returns What a browser would meet.
 */
export async function publicFindings(
  config: PublicSettings,
  options: { running: Promise<boolean>; send?: Send },
): Promise<Finding[]> {
  const { origin } = config.baseUrl;
  const turn = pLimit(checkRequestsAtOnceMax);
  const plain = options.send ?? fetch;
  const send: Send = (address, init) => turn(() => ask(plain, address, init));
  const askedAt = Date.now();
  let ready: Response;
  try {
    ready = await send(`${origin}/health/ready`);
  } catch (error) {
    return [await unreachable(config, { running: options.running, reason: reasonOf(error) })];
  }
  const answeredAt = Date.now();
  const body = await ready.text();
  const state = readyFinding(config, { ready, body });
  if (state !== null) return [state];
  const findings: Finding[] = [
    { about: "Public address", verdict: "ok", saw: `${origin} reaches the server, and it is ready.` },
    ...dateFinding(ready, { askedAt, answeredAt }),
  ];
  const checks: Promise<Finding | null>[] = [
    pageFinding(config, send),
    compressionFinding(config, send),
    cookieFinding(config, send),
    arrivalFinding(config, send),
    longRedirectFinding(config, send),
    strangerFinding(config, send),
    ...config.allowedOrigins.map((one) => originFinding(config, { allowed: one, send })),
    redirectFinding(config, send),
    forwardedFinding(config, send),
  ];
  for (const found of await Promise.all(checks)) if (found !== null) findings.push(found);
  return findings;
}

function ask(send: Send, address: string, init: RequestInit = {}): Promise<Response> {
  return send(address, { redirect: "manual", ...init, signal: AbortSignal.timeout(checkTimeoutMs) });
}

async function isGatehouse(asked: Promise<Response>): Promise<boolean> {
  try {
    const answer = await asked;
    await answer.body?.cancel();
    return answer.headers.get("x-request-id")?.startsWith("req_") === true;
  } catch {
    return false;
  }
}

async function unreachable(
  config: PublicSettings,
  { running, reason }: { running: Promise<boolean>; reason: string },
): Promise<Finding> {
  const about = "Public address";
  const saw = `${config.baseUrl.origin} is not reachable: ${reason}`;
  if (await running) {
    const advice = `The server itself answers at ${
      upstreamOf(config)
    }. Look at DNS, at the certificate, and at the proxy.`;
    return { about, verdict: "wrong", saw, advice, isForProxy: true };
  }
  const advice = config.port === 0
    ? "With PORT=0 only the server itself knows its port: choose one."
    : `Nothing answers at ${
      upstreamOf(config)
    } either: start the server, then check again what a browser sees ` +
      "(headers, cookies, each allowed origin, clock).";
  return { about, verdict: "warning", saw, advice };
}

/** @returns What is wrong with being reached at all, or null. */
function readyFinding(
  { baseUrl, ...config }: PublicSettings,
  { ready, body }: { ready: Response; body: string },
): Finding | null {
  const about = "Public address";
  const isOurs = ready.headers.get("x-request-id")?.startsWith("req_") === true;
  if (ready.status === 200 && isOurs && /"status"\s*:\s*"ok"/.test(body)) return null;
  const saw = `${baseUrl.origin}/health/ready answers ${ready.status}`;
  if (isOurs && ready.status === 503) {
    const advice = "Look at the database first, then at the server's log.";
    return { about, verdict: "wrong", saw: `${saw}: the server is there, and not ready.`, advice };
  }
  const where = ready.headers.get("location");
  const elsewhere = leadsTo(where, baseUrl);
  if (elsewhere !== null) {
    const advice = `If that is the address that people use, set BASE_URL=${elsewhere}`;
    return { about, verdict: "wrong", saw: `${saw} and leads to ${elsewhere}.`, advice };
  }
  return {
    about,
    verdict: "wrong",
    saw: `${saw}${
      where === null ? "" : ` and leads to ${where}`
    }: that is not this server, or its headers are taken away.`,
    advice: `Let ${baseUrl.host} lead to ${upstreamOf({ ...config })}, every path and every header.`,
    isForProxy: true,
  };
}

/** @returns The origin that a redirect leads to, where it is the same page under another address: https, or another name. */
function leadsTo(where: string | null, baseUrl: URL): string | null {
  if (where === null || !URL.canParse(where, baseUrl)) return null;
  const { origin, pathname } = new URL(where, baseUrl);
  return pathname === "/health/ready" && origin !== baseUrl.origin ? origin : null;
}

function dateFinding(ready: Response, asked: Omit<ClockReading, "at">): Finding[] {
  const at = Date.parse(ready.headers.get("date") ?? "");
  return Number.isNaN(at) ? [] : [clockFinding("the public address", { at, ...asked })];
}

/** The headers of a page, which keep other sites and caches out. */
async function pageFinding({ baseUrl, secure }: PublicSettings, send: Send): Promise<Finding> {
  return await attempt("Headers of pages", async (found) => {
    const { status, headers } = await emptied(send(`${baseUrl.origin}/sign-in`));
    const faults: string[] = [];
    const policy = headers.get("content-security-policy");
    if (policy === null) faults.push("Content-Security-Policy is missing");
    else if (!policy.startsWith("default-src 'none'") || policy.split("default-src").length > 2) {
      faults.push("Content-Security-Policy is not the server's");
    }
    const hsts = headers.get("strict-transport-security");
    if (secure && hsts === null) faults.push("Strict-Transport-Security is missing");
    if (hsts?.includes(",")) faults.push("Strict-Transport-Security is there twice");
    if (!headers.get("cache-control")?.includes("no-store")) faults.push("Cache-Control lacks no-store");
    if (headers.get("x-content-type-options") !== "nosniff") {
      faults.push("X-Content-Type-Options is not nosniff");
    }
    if (status !== 200) faults.push(`/sign-in answers ${status}`);
    return faults.length === 0
      ? found("ok", `/sign-in has its headers${secure ? ", HSTS too" : ""}.`)
      : found(
        "wrong",
        `On /sign-in ${faults.join("; ")}.`,
        "Let the proxy pass the server's headers on as they are.",
      );
  });
}

/** Asked for with and without: the runtime unpacks an answer and takes its length away with it. */
async function compressionFinding({ baseUrl }: PublicSettings, send: Send): Promise<Finding> {
  return await attempt("Compression", async (found) => {
    const [plain, packed] = await Promise.all(
      ["identity", "gzip, br"].map((encoding) =>
        emptied(send(`${baseUrl.origin}/sign-in`, { headers: { "Accept-Encoding": encoding } }))
      ),
    );
    const isPacked = packed?.headers.has("content-encoding") ||
      (plain?.headers.has("content-length") === true && packed?.headers.has("content-length") === false);
    return isPacked
      ? found(
        "warning",
        "Pages come compressed, though the server forbids that (no-transform): their length can give a secret away.",
        "Turn compression off in the proxy for this host (nginx: gzip off; Caddy: no encode).",
      )
      : found("ok", "Pages come as the server sent them.");
  });
}

/** Signing out nobody: the answer takes cookies away that are not there, in the form in which they would be set. */
async function cookieFinding(
  { baseUrl, secure, cookieDomain }: PublicSettings,
  send: Send,
): Promise<Finding> {
  return await attempt("Cookie", async (found) => {
    const { status, headers } = await emptied(
      send(`${baseUrl.origin}/api/auth/sign-out`, { method: "POST", headers: { Origin: baseUrl.origin } }),
    );
    if (status === 403) {
      return found(
        "wrong",
        `A form from ${baseUrl.origin} is refused as if it came from another site: nobody can sign in.`,
        "Let the proxy pass Origin and Sec-Fetch-Site on as they came.",
      );
    }
    const cookies = headers.getSetCookie().filter((one) => one.startsWith("access_token="));
    if (cookies.length === 0) {
      return found(
        "wrong",
        `Set-Cookie does not come through (the answer was ${status}).`,
        "Let the proxy pass it on.",
      );
    }
    const has = (cookie: string, attribute: string) =>
      cookie.split(/;\s*/).some((one) => equal(one, attribute));
    const wanted = ["HttpOnly", "SameSite=Lax", "Path=/", ...(secure ? ["Secure"] : [])];
    const lacking = wanted.filter((one) => !cookies.every((cookie) => has(cookie, one)));
    const domains = cookies.flatMap((cookie) => /;\s*domain=([^;]*)/i.exec(cookie)?.[1] ?? []);
    const isDomainKept = cookieDomain === undefined
      ? domains.length === 0
      : domains.length === 1 && equal(domains[0]?.replace(/^\./, "") ?? "", cookieDomain.slice(1));
    if (!isDomainKept) {
      lacking.push(cookieDomain === undefined ? "no Domain" : `Domain=${cookieDomain} on one of two`);
    }
    return lacking.length === 0
      ? found(
        "ok",
        `It comes with ${
          [...wanted, ...(cookieDomain === undefined ? [] : [`Domain=${cookieDomain}`])].join(", ")
        }.`,
      )
      : found("wrong", `It lacks ${lacking.join(", ")}.`, "Let the proxy leave Set-Cookie as it is.");
  });
}

/** An origin that is not allowed must not learn anything. */
async function strangerFinding({ baseUrl }: PublicSettings, send: Send): Promise<Finding> {
  return await attempt("Other origins", async (found) => {
    const headers = { Origin: "https://gatehouse-check.invalid" };
    const answer = await emptied(send(`${baseUrl.origin}/api/auth/me`, { headers }));
    const allowed = answer.headers.get("access-control-allow-origin");
    return allowed === null ? found("ok", "An origin that is not allowed learns nothing.") : found(
      "wrong",
      `An origin that is not allowed gets Access-Control-Allow-Origin: ${allowed.slice(0, 100)}`,
      "Take every Access-Control header out of the proxy's settings: the server sends them itself.",
    );
  });
}

/** What a browser on an allowed origin asks before it sends a request, and the request. */
async function originFinding(
  { baseUrl }: PublicSettings,
  { allowed, send }: { allowed: AllowedOrigin; send: Send },
): Promise<Finding> {
  return await attempt(`CORS for ${allowed.text}`, async (found) => {
    const { origin } = exampleOrigin(allowed);
    const address = `${baseUrl.origin}/api/auth/me`;
    const preflight = { Origin: origin, "Access-Control-Request-Method": "GET" };
    const [before, answer] = await Promise.all([
      emptied(send(address, { method: "OPTIONS", headers: preflight })),
      emptied(send(address, { headers: { Origin: origin } })),
    ]);
    const faults: string[] = [];
    for (
      const [what, { headers, status, ok }] of [["the preflight", before], ["the answer", answer]] as const
    ) {
      if (!ok) faults.push(`${what} is ${status}`);
      const echoed = headers.get("access-control-allow-origin");
      if (echoed === null) faults.push(`${what} lacks Access-Control-Allow-Origin`);
      else if (echoed !== origin) {
        faults.push(
          `${what} has Access-Control-Allow-Origin: ${echoed.slice(0, 100)} and not ${origin} once`,
        );
      }
      if (headers.get("access-control-allow-credentials") !== "true") {
        faults.push(`${what} lacks Access-Control-Allow-Credentials: true`);
      }
      const vary = headers.get("vary")?.split(/,\s*/) ?? [];
      if (!vary.some((one) => equal(one, "origin"))) faults.push(`${what} lacks Vary: Origin`);
    }
    return faults.length === 0
      ? found("ok", "The preflight and the answer come as a browser needs them.")
      : found(
        "wrong",
        `${faults.join("; ")}.`,
        "Let the proxy pass Origin on, leave OPTIONS to the server, and leave Vary and Access-Control headers as they are.",
      );
  });
}

/** Whether plain http leads to https; there is nothing to ask where https has a port of its own. */
async function redirectFinding({ baseUrl, secure }: PublicSettings, send: Send): Promise<Finding | null> {
  if (!secure || baseUrl.port !== "") return null;
  const address = `http://${baseUrl.hostname}/sign-in`;
  return await attempt("Plain http", async (found) => {
    const answer = await emptied(send(address)).catch(() => null);
    if (answer === null) return found("ok", `${address} is not answered.`);
    const target = answer.headers.get("location") ?? "";
    const isRedirect = answer.status >= 300 && answer.status < 400 && target.startsWith(`${baseUrl.origin}/`);
    return isRedirect ? found("ok", `${address} leads to https.`) : found(
      "wrong",
      `${address} answers ${answer.status} and does not lead to https.`,
      `Let the proxy redirect (301) to ${baseUrl.origin}`,
    );
  });
}

/** The metrics are for this machine alone, unless a token is set: whoever gets them through a proxy came without an address. */
async function forwardedFinding(config: PublicSettings, send: Send): Promise<Finding | null> {
  const { baseUrl, metricsToken } = config;
  if (metricsToken !== undefined || !isBehindProxy(config)) return null;
  return await attempt("X-Forwarded-For", async (found) => {
    const { status } = await emptied(send(`${baseUrl.origin}/metrics`));
    return status === 200
      ? found(
        "wrong",
        "The proxy does not send it: everybody counts as this machine, and can read /metrics.",
        "Let the proxy send X-Forwarded-For, and set METRICS_TOKEN.",
      )
      : found(
        "ok",
        "The proxy sends it, or keeps /metrics to itself, or is on another machine. /portal/check shows what arrives.",
      );
  });
}

function equal(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
