// The authorization endpoint, where applications send people, and the decision on its consent page.
import type { SessionActor } from "../../domain/access/actor.ts";
import type { Session } from "../../domain/access/session.ts";
import { AppError } from "../../domain/errors.ts";
import { documentHost, isDocumentId } from "../../domain/oauth/client_document.ts";
import { consentFormMs } from "../../domain/oauth/oauth_limits.ts";
import { OAuthError } from "../../domain/oauth/oauth_error.ts";
import { otherAccountPath, withReturnTo } from "../../domain/people/return_to.ts";
import { anonymousBodyBytesMax, emailCharactersMax, returnToCharactersMax } from "../../domain/limits.ts";
import { derivedToken, newToken } from "../../services/access/mod.ts";
import {
  type CheckedRequest,
  checkRequest,
  type ClientRequest,
  errorAddress,
  errorOfNeed,
  findClientRequest,
  findKeptRequest,
  findNeed,
  issueCode,
  keepRequest,
  type Need,
} from "../../services/oauth/mod.ts";
import { readFormBody, readText } from "../body.ts";
import { oauthBrowserTokens, setOAuthBrowserCookie } from "../cookies.ts";
import type { App, AppContext } from "../env.ts";
import {
  gateFrame,
  type PortalParts,
  redirect,
  sendPage,
  signedInRoutes,
  withoutReferrer,
} from "../portal/page.ts";
import { findSession, sessionActor } from "../session.ts";
import {
  confirmEmailFirstPage,
  consentPage,
  consentPath,
  EndPage,
  goOnPage,
  noAccessPage,
} from "./consent_pages.tsx";
import { isNavigation } from "./navigation.ts";

const path = "/oauth/authorize";
const keptParameter = "kept";

/** A request with its query, and when it came, if it was kept. */
interface Asked {
  readonly query: string;
  readonly askedAt: number | null;
}

export function authorizeRoutes(app: App, parts: PortalParts): void {
  app.get(path, withoutReferrer((c) => authorize(c, parts)));

  // Another site's form comes without our cookies, and its parameters can be long.
  app.post(
    path,
    withoutReferrer(async (c) =>
      redirect(c, `${path}?${new URLSearchParams((await readText(c, anonymousBodyBytesMax)).text)}`)
    ),
  );

  signedInRoutes(app, parts).post(consentPath, (c, session) => {
    c.set("responseHeaders", [["referrer-policy", "no-referrer"]]);
    return decide(c, parts, session);
  });
}

async function authorize(c: AppContext, parts: PortalParts): Promise<Response> {
  // An image, a frame or a prefetch must not get codes.
  if (!isNavigation(c)) throw new AppError("malformed_request", "Open this address as a page.");
  const asked = await readAsked(c, parts);
  const parameters = new URLSearchParams(asked.query);
  const session = await findSession(c, parts);
  const clientId = parameters.get("client_id") ?? "";
  if (isDocumentId(clientId)) {
    if (session?.user.emailVerified !== true) {
      return await beforeReading(c, parts, { asked, parameters, session });
    }
    await parts.services.clientDocuments.read(clientId, session.user.id);
  }
  const from = await findClientRequest(parts.services, parameters);
  return await toApplication(c, parts, { from, session }, async () => {
    const checked = await checkRequest(parts.services, from, parameters);
    const isSilent = checked.request.prompts.includes("none");
    const need: Need = session === null
      ? { kind: "login" }
      : await findNeed(parts.services, session, checked, { askedAt: asked.askedAt });
    if (need.kind !== "nothing" && isSilent) throw errorOfNeed(need);
    if (session === null) {
      return await toSignIn(c, parts, asked);
    }
    if (need.kind !== "nothing") return await showNeed(c, parts, { session, asked, checked, need });
    const { organizationId } = need;
    const actor = sessionActor(c, session);
    return redirect(
      c,
      await issueCode(parts.services, actor, { checked, organizationId, consented: false }),
      {
        status: 302,
      },
    );
  });
}

const promptsOf = (parameters: URLSearchParams) => (parameters.get("prompt") ?? "").split(" ");

/** Nothing is read for strangers, so nothing is known of the application yet. */
async function beforeReading(
  c: AppContext,
  parts: PortalParts,
  { asked, parameters, session }: { asked: Asked; parameters: URLSearchParams; session: Session | null },
): Promise<Response> {
  const clientName = parts.services.clientDocuments.requireHost(parameters.get("client_id") ?? "");
  if (promptsOf(parameters).includes("none")) throw new AppError("malformed_request", "Sign in here first.");
  if (session === null) return await toSignIn(c, parts, asked);
  const href = await addressOf(c, parts, asked, { isFresh: false });
  return await sendPage(
    c,
    confirmEmailFirstPage({ frame: gateFrame(parts), clientName, email: session.user.email, href }),
    403,
  );
}

/** Sends errors to the application's redirect address, which is known good. */
async function toApplication(
  c: AppContext,
  { services }: PortalParts,
  { from, session }: { from: ClientRequest; session: Session | null },
  run: () => Promise<Response>,
): Promise<Response> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const address = await errorAddress(services, from, { error, userId: session?.user.id });
    if (address === null) throw untrustedError(from, error);
    return redirect(c, address, { status: 302 });
  }
}

const untrustedError = ({ client }: ClientRequest, { message }: OAuthError) =>
  new AppError(
    "malformed_request",
    `${client.name} at ${documentHost(client.id)} can't sign you in. ${message}`,
  );

async function readAsked(c: AppContext, { config, services }: PortalParts): Promise<Asked> {
  const { search, searchParams } = new URL(c.req.url);
  const kept = searchParams.get(keptParameter);
  if (kept === null) return { query: search.slice(1), askedAt: null };
  const found = await findKeptRequest(services, kept, oauthBrowserTokens(c.get("headers")["cookie"], config));
  if (found !== undefined) return found;
  throw new AppError(
    "malformed_request",
    "This sign-in has expired. Go back to the application and start again.",
  );
}

/** Returns the address of a request for after signing in. `isFresh`: the person must sign in after now. */
async function addressOf(
  c: AppContext,
  { config, services }: PortalParts,
  { query, askedAt }: Asked,
  { isFresh }: { isFresh: boolean },
): Promise<string> {
  const { pathname, search } = new URL(c.req.url);
  if (askedAt !== null && pathname === path) return pathname + search;
  const address = `${path}?${query}`;
  // The target is encoded twice on its way.
  if (!isFresh && encodeURIComponent(address).length <= returnToCharactersMax) return address;
  const browserToken = browserTokenOf(c, config);
  const id = await keepRequest(services, query, { browserToken, address: c.get("client").address });
  if (id === null) {
    throw new AppError("rate_limited", "Too many sign-ins are open. Try again in a few minutes.");
  }
  return `${path}?${keptParameter}=${id}`;
}

async function toSignIn(c: AppContext, parts: PortalParts, asked: Asked): Promise<Response> {
  const parameters = new URLSearchParams(asked.query);
  const address = await addressOf(c, parts, asked, { isFresh: promptsOf(parameters).includes("login") });
  const hint = parameters.get("login_hint")?.slice(0, emailCharactersMax);
  const more = new URLSearchParams({
    ...(hint === undefined ? {} : { login_hint: hint }),
    // The cookies of two people were cleared.
    ...(c.get("hasConflict") ? { conflict: "1" } : {}),
  });
  const path = withReturnTo("/sign-in", address);
  return redirect(c, more.size === 0 ? path : `${path}&${more}`, { status: 302 });
}

async function showNeed(
  c: AppContext,
  parts: PortalParts,
  { session, asked, checked, need }: {
    session: Session;
    asked: Asked;
    checked: CheckedRequest;
    need: Exclude<Need, { kind: "nothing" }>;
  },
): Promise<Response> {
  const frame = gateFrame(parts);
  const { client } = checked;
  const { email } = session.user;
  if (need.kind === "login") {
    const target = await addressOf(c, parts, asked, { isFresh: true });
    return redirect(c, `/portal/confirm-password?again=1&return_to=${encodeURIComponent(target)}`, {
      status: 302,
    });
  }
  if (need.kind === "email") {
    const href = await addressOf(c, parts, asked, { isFresh: false });
    return await sendPage(c, confirmEmailFirstPage({ frame, clientName: client.name, email, href }), 403);
  }
  if (need.kind === "no_access") {
    const error = errorOfNeed(need);
    const href = await errorAddress(parts.services, checked, { error, userId: session.user.id });
    if (href === null) throw untrustedError(checked, error);
    const otherHref = otherAccountPath(await addressOf(c, parts, asked, { isFresh: false }));
    return await sendPage(c, noAccessPage({ frame, clientName: client.name, email, href, otherHref }), 403);
  }
  const token = browserTokenOf(c, parts.config);
  const shown = { query: asked.query, client, shownAt: parts.services.clock() };
  return await sendPage(
    c,
    consentPage({
      frame,
      checked,
      session,
      memberships: need.organizations,
      hidden: { request: asked.query, proof: proofOf(token, session, shown) },
    }),
  );
}

/** Only this browser, with this session, can have the form with this request, shown at this time for a client with these settings. */
function proofOf(
  browserToken: string,
  session: Session,
  { query, client, shownAt }: { query: string; client: ClientRequest["client"]; shownAt: number },
): string {
  const use = ["consent", session.id, session.user.id, JSON.stringify(client), `${shownAt}`, query];
  return `${shownAt}.${derivedToken(browserToken, use)}`;
}

async function decide(c: AppContext, parts: PortalParts, session: SessionActor): Promise<Response> {
  const { config, services } = parts;
  const { request = "", proof = "", decision, organizationId = "" } = await readFormBody(c);
  const parameters = new URLSearchParams(request);
  // The stored copy, as it was shown.
  const from = await findClientRequest(services, parameters);
  const { client } = from;
  const shown = { query: request, client, shownAt: Number.parseInt(proof) };
  const isOwn = shown.shownAt > services.clock() - consentFormMs &&
    oauthBrowserTokens(c.get("headers")["cookie"], config)
      .some((token) => proofOf(token, session, shown) === proof);
  if (!isOwn) {
    const message = "This page is out of date. Go back to the application and start again.";
    throw new AppError("malformed_request", message);
  }
  if (decision === "switch") {
    const asked = { query: request, askedAt: null };
    const isFresh = promptsOf(parameters).includes("login");
    return redirect(c, otherAccountPath(await addressOf(c, parts, asked, { isFresh })));
  }
  const answer = async () => {
    if (decision !== "allow") throw new OAuthError("access_denied", "The person denied the request.");
    const checked = await checkRequest(services, from, parameters);
    const consent = { organizationId: organizationId === "" ? null : organizationId };
    const need = await findNeed(services, session, checked, { askedAt: null, consent });
    if (need.kind !== "nothing") throw errorOfNeed(need);
    return await issueCode(services, session, {
      checked,
      organizationId: need.organizationId,
      consented: true,
    });
  };
  const frame = gateFrame(parts);
  const href = await answer().catch(async (error) => {
    if (!(error instanceof OAuthError)) throw error;
    const address = await errorAddress(services, from, { error, userId: session.user.id });
    if (address === null && decision === "allow") throw untrustedError(from, error);
    return address;
  });
  if (href !== null) {
    const title = "Continue to the application";
    return await sendPage(c, goOnPage({ frame, title, act: "Continuing to", href }));
  }
  return await sendPage(
    c,
    <EndPage frame={frame} title="Request denied">
      <bdi>{client.name}</bdi> gets no access. You can close this page.
    </EndPage>,
  );
}

/** Returns the browser's token for requests and forms of applications, and sets its cookie the first time. */
function browserTokenOf(c: AppContext, config: PortalParts["config"]): string {
  const [known] = oauthBrowserTokens(c.get("headers")["cookie"], config);
  const token = known ?? newToken();
  setOAuthBrowserCookie(c, config, token);
  return token;
}
