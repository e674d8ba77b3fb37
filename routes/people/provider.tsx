// Signing in with a provider: the link or form that opens it, and the redirect URI. Errors end on a page that says so and
// shows other ways.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { SessionActor } from "../../domain/access/actor.ts";
import { AppError, type ErrorCode } from "../../domain/errors.ts";
import type { OfferedProvider, VisitPurpose } from "../../domain/people/identity_provider.ts";
import { withReturnTo } from "../../domain/people/return_to.ts";
import {
  beginProviderVisit,
  companySignIn,
  completeConfirmation,
  completeLink,
  completeProviderVisit,
  type ProviderVisit,
  requireProvider,
  signInWithProvider,
} from "../../services/people/mod.ts";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { Form, returnField } from "../../views/components/form.tsx";
import { GateCard } from "../../views/components/gate_card.tsx";
import { securityLink } from "../../views/components/links.ts";
import type { GateFrame } from "../../views/layout.tsx";
import { readFormBody } from "../body.ts";
import { providerVisitTokens, setLastMethodCookie, setSecondStepCookie } from "../cookies.ts";
import type { App, AppContext } from "../env.ts";
import { setErrorHeaders } from "../errors.ts";
import { beginSession, findSession, sessionActor } from "../session.ts";
import { signOutOfPortal } from "../sign_out.ts";
import {
  gateFrame,
  home,
  portalFrame,
  type PortalParts,
  redirect,
  sendPage,
  toSignIn,
  withoutReferrer,
} from "../portal/page.ts";
import { invitationAddress, invitationJoined, invitationTokenIn } from "./accept_invitation.tsx";
import { providerTestPage } from "./company_sign_in_pages.tsx";
import { beginVisit, sendToProvider } from "./go_to_provider.tsx";
import { continueTo, returnToOf } from "./sign_in.tsx";

const path = "/sign-in/with/:slug";

export function portalProviderRoutes(app: App, parts: PortalParts): void {
  const { config, services } = parts;

  /** Begins to sign in. @param respond Leads to the provider. */
  async function begin(
    c: AppContext,
    { provider, returnTo, invitationToken }: NewSignIn,
    respond: (url: URL) => Response | Promise<Response>,
  ): Promise<Response> {
    const retry = linkOf({ provider, returnTo, invitationToken });
    return await withFailurePage(c, parts, { provider, retry, returnTo }, async () => {
      const visit = { provider, purpose: "sign_in", returnTo, invitationToken } as const;
      const write = services.database.write.bind(services.database);
      const url = await beginVisit(
        c,
        parts,
        (browserTokens) => beginProviderVisit(services, c.get("client"), { ...visit, browserTokens, write }),
      );
      return await respond(url);
    });
  }

  app.get(
    path,
    withoutReferrer(async (c) => {
      if (isOnlyLooking(c)) return c.body(null, 204);
      const visit = await newSignIn(c, parts, c.req.query());
      const { issuer, name, organizationId } = visit.provider;
      // Anyone can set up an organization's provider, and it may answer without asking.
      if (organizationId !== null && c.get("headers")["sec-fetch-site"] !== "same-origin") {
        return await sendPage(c, continuePage(gateFrame(parts), { ...formOf(visit), issuer, name }));
      }
      return await begin(c, visit, (url) => redirect(c, url.href, { status: 302 }));
    }),
  );

  app.post(
    path,
    withoutReferrer(async (c) => {
      const input = await readFormBody(c);
      return await begin(c, await newSignIn(c, parts, input), async (url) => {
        // Not before the provider can be reached.
        if (input["sign_out"] === "1") await signOutOfPortal(c, parts);
        return await sendToProvider(c, parts, url);
      });
    }),
  );

  app.get(
    `${path}/callback`,
    withoutReferrer(async (c) => {
      if (isOnlyLooking(c)) return c.body(null, 204);
      const provider = await requireProvider(services, c.req.param("slug") ?? "", { isForTest: true });
      // Someone who is signed in was about to connect it, or to confirm that it's them.
      const isSignedIn = await findSession(c, parts) !== null;
      const { pathname, search } = new URL(c.req.url);
      const ways = {
        ...(isSignedIn
          ? { retry: null, back: securityLink.href }
          : { retry: `/sign-in/with/${provider.slug}`, back: null }),
        // The visit isn't used up.
        retryWhenFull: pathname + search,
      };
      return await withFailurePage(c, parts, { provider, ...ways, returnTo: null }, async () => {
        const visit = await completeProviderVisit(services, c.get("client"), {
          slug: provider.slug,
          query: search,
          browserTokens: providerVisitTokens(c.get("headers")["cookie"], config),
        });
        return visit === null ? await expired(c, parts) : await complete(c, parts, visit);
      });
    }),
  );
}

/** Completes a visit for its purpose. Errors return to the page where it began. */
async function complete(c: AppContext, parts: PortalParts, visit: ProviderVisit): Promise<Response> {
  const { provider, purpose } = visit;
  const target = returnToOf(visit.returnTo ?? undefined, parts.config);
  const isSignIn = purpose === "sign_in";
  const again = { provider, returnTo: target, invitationToken: invitationTokenIn(target) };
  const retry = isSignIn ? linkOf(again) : null;
  const switching = isSignIn ? formOf(again, { sign_out: "1" }) : null;
  const failed = { provider, retry, switching, returnTo: target, back: isSignIn ? null : target ?? home };
  return await withFailurePage(c, parts, failed, () => completions[purpose](c, parts, { ...visit, target }));
}

/** `target`: the next page, checked. */
type CheckedVisit = ProviderVisit & { readonly target: string | null };
type Completion = (c: AppContext, parts: PortalParts, visit: CheckedVisit) => Promise<Response>;

const completions: Readonly<Record<VisitPurpose, Completion>> = {
  sign_in: completeSignIn,
  async link(c, parts, visit) {
    await completeLink(parts.services, await actorOf(c, parts), visit);
    return redirect(c, visit.target ?? securityLink.href);
  },
  async confirm(c, parts, visit) {
    const page = await completeConfirmation(parts.services, await actorOf(c, parts), visit);
    return page === null ? await completeSignIn(c, parts, visit) : redirect(c, page);
  },
  async test(c, parts, visit) {
    const actor = await actorOf(c, parts);
    if (actor === null) return toSignIn(c, parts);
    const test = await companySignIn.completeProviderTest(parts.services, actor, visit);
    return await sendPage(c, providerTestPage(portalFrame(parts, actor), test));
  },
};

async function actorOf(c: AppContext, parts: PortalParts): Promise<SessionActor | null> {
  const session = await findSession(c, parts);
  return session === null ? null : sessionActor(c, session);
}

async function completeSignIn(c: AppContext, parts: PortalParts, visit: CheckedVisit): Promise<Response> {
  const { config, services } = parts;
  const { target, provider: { slug, organizationId } } = visit;
  const signedInAs = (await findSession(c, parts))?.user ?? null;
  const result = await beginSession(
    c,
    parts,
    (client) => signInWithProvider(services, client, { ...visit, signedInAs }),
  );
  // An organization's own provider has no button.
  if (organizationId === null) setLastMethodCookie(c, config, slug);
  if (!("secondStep" in result)) return continueTo(c, result.hasJoined ? invitationJoined : target);
  setSecondStepCookie(c, config, result.secondStep.token, { isFromProvider: true });
  return redirect(c, withReturnTo("/sign-in/second-step", target));
}

/**
 * True for requests of scanners, of browsers that load a page before it is opened, and of images, frames and scripts in any page: nothing
 * must begin or be used up.
 */
function isOnlyLooking(c: AppContext): boolean {
  const headers = c.get("headers");
  return c.req.method === "HEAD" || (headers["sec-fetch-dest"] || "document") !== "document" ||
    /prefetch|prerender/i.test(headers["sec-purpose"] ?? headers["purpose"] ?? "");
}

/** Reloading the page leads people who are signed in to the portal. */
async function expired(c: AppContext, parts: PortalParts): Promise<Response> {
  if (await findSession(c, parts) !== null) return redirect(c, home);
  throw new AppError(
    "provider_rejected",
    "This attempt to sign in has expired, was already completed, or began in another browser. Try again.",
  );
}

interface NewSignIn {
  readonly provider: ProviderVisit["provider"];
  readonly returnTo: string | null;
  readonly invitationToken: string | undefined;
}

/** Reads the purpose of a link or a form. @throws {AppError} `not_found`. */
async function newSignIn(
  c: AppContext,
  { config, services }: PortalParts,
  { invitation, return_to }: Readonly<Record<string, string>>,
): Promise<NewSignIn> {
  const provider = await requireProvider(services, c.req.param("slug") ?? "");
  const returnTo = invitation === undefined ? returnToOf(return_to, config) : invitationAddress(invitation);
  return { provider, returnTo, invitationToken: invitation };
}

/** Returns a link that {@linkcode newSignIn} reads. */
function linkOf(visit: NewSignIn): string {
  const { action, hidden } = formOf(visit);
  const search = new URLSearchParams(hidden).toString();
  return search === "" ? action : `${action}?${search}`;
}

/** Returns a form that {@linkcode newSignIn} reads. */
function formOf({ provider, returnTo, invitationToken }: NewSignIn, more: Record<string, string> = {}) {
  const hidden = invitationToken === undefined ? returnField(returnTo) : { invitation: invitationToken };
  return { action: `/sign-in/with/${provider.slug}`, hidden: { ...hidden, ...more } };
}

const titles: Partial<Record<ErrorCode, (name: string) => string>> = {
  provider_rejected: (name) => `Couldn't sign in with ${name}`,
  provider_unavailable: (name) => `Can't reach ${name}`,
  identity_not_linked: (name) => `Connect ${name} to your account`,
  sso_required: () => "Use single sign-on",
  sign_up_closed: () => "No account found",
  invalid_token: () => "This invitation is no longer valid",
  wrong_account: () => "Another account",
  identity_taken: () => "Already connected",
  forbidden: (name) => `Can't connect ${name}`,
  proof_required: () => "Confirm that it's you",
  organization_suspended: () => "Organization suspended",
  limit_reached: () => "Limit reached",
  rate_limited: () => "Too many attempts",
  unavailable: () => "Temporarily unavailable",
};
const retried: ReadonlySet<ErrorCode> = new Set(["provider_rejected", "provider_unavailable"]);

interface FailedWay {
  readonly provider: OfferedProvider;
  readonly retry: string | null;
  /** The link that tries again after the provider had no place; default: `retry`. */
  readonly retryWhenFull?: string | null;
  /** For someone who is signed in to another account. */
  readonly switching?: ReturnType<typeof formOf> | null;
  readonly returnTo: string | null;
  /** The link back for someone who is signed in. */
  readonly back?: string | null;
}

/** Shows an error of a visit as a page. @throws Errors that aren't about the visit. */
async function withFailurePage(
  c: AppContext,
  parts: PortalParts,
  { provider: { slug, name }, retry, retryWhenFull = retry, switching = null, returnTo, back = null }:
    FailedWay,
  visit: () => Promise<Response>,
): Promise<Response> {
  try {
    return await visit();
  } catch (error) {
    const title = error instanceof AppError ? titles[error.code] : undefined;
    if (!(error instanceof AppError) || title === undefined) throw error;
    const { code, message, cause } = error;
    if (cause instanceof Error) {
      const requestId = c.get("requestId");
      parts.log.warn("sign-in with a provider failed", { requestId, provider: slug, reason: cause.message });
    }
    setErrorHeaders(c, error);
    const page = failurePage(gateFrame(parts), {
      title: title(name),
      message,
      retry: code === "unavailable" ? retryWhenFull : retried.has(code) ? retry : null,
      switching: code === "wrong_account" ? switching : null,
      back,
      ...(code === "identity_not_linked"
        ? { other: "Sign in to connect", returnTo: securityLink.href }
        : { other: "Sign in another way", returnTo }),
    });
    return await sendPage(c, page, error.status as ContentfulStatusCode);
  }
}

/** Asks before an organization's provider signs someone in: another site may have opened this page. */
function continuePage(
  frame: GateFrame,
  { issuer, name, ...form }: ReturnType<typeof formOf> & { issuer: string; name: string },
) {
  const text = (
    <>
      You'll sign in with the single sign-on of <bdi>{name}</bdi>.
    </>
  );
  return (
    <GateCard frame={frame} title="Single sign-on" text={text} {...form}>
      <SubmitButton>
        <span>
          Continue to <bdi>{new URL(issuer).host}</bdi>
        </span>
      </SubmitButton>
    </GateCard>
  );
}

/** @param failed `other`: names the way to the sign-in page. */
function failurePage(
  frame: GateFrame,
  { title, message, retry, switching, back, other, returnTo }:
    & Required<Pick<FailedWay, "retry" | "switching" | "back" | "returnTo">>
    & Readonly<Record<"title" | "message" | "other", string>>,
) {
  if (switching !== null) {
    return (
      <GateCard frame={frame} title={title} text={message}>
        <Form {...switching}>
          <SubmitButton>Sign out and continue</SubmitButton>
        </Form>
        <ButtonLink href="/portal">Stay signed in</ButtonLink>
      </GateCard>
    );
  }
  return (
    <GateCard frame={frame} title={title} text={message}>
      {retry !== null && <ButtonLink tone="primary" href={retry}>Try again</ButtonLink>}
      <ButtonLink
        tone={retry === null ? "primary" : "plain"}
        href={back ?? withReturnTo("/sign-in", returnTo)}
      >
        {back === null ? other : "Go back"}
      </ButtonLink>
    </GateCard>
  );
}
