// Signing in with a provider: the link that leads there, and the address to come back to. Errors end on a page that says so and shows
// other ways.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Config } from "../../../config.ts";
import { AppError, type ErrorCode } from "../../../domain/errors.ts";
import type { OfferedProvider } from "../../../domain/sign_in/identity_provider.ts";
import { withReturnTo } from "../../../domain/sign_in/return_to.ts";
import { signInWithProvider } from "../../../services/sign_in/provider_sign_in.ts";
import {
  beginProviderVisit,
  completeProviderVisit,
  type ProviderVisit,
  requireProvider,
} from "../../../services/sign_in/provider_visit.ts";
import { failedVisitPage } from "../../../views/sign_in/provider.tsx";
import {
  providerVisitTokens,
  setLastMethodCookie,
  setProviderVisitCookie,
  setSecondStepCookie,
} from "../../cookies.ts";
import type { App, AppContext } from "../../env.ts";
import { setErrorHeaders } from "../../errors.ts";
import { beginSession, findSession } from "../../session.ts";
import { gateFrame, home, type PortalParts, redirect, sendPage, withoutReferrer } from "../page.ts";
import { invitationAddress, invitationJoined } from "../organization/accept_invitation.ts";
import { securityLink } from "../../../views/sign_in/two_step.tsx";
import { continueTo, returnToOf } from "./sign_in.ts";

const path = "/sign-in/with/:slug";

export function portalProviderRoutes(app: App, parts: PortalParts): void {
  const { config, services } = parts;
  const browserTokens = (c: AppContext) => providerVisitTokens(c.get("headers")["cookie"], config);

  app.get(
    path,
    withoutReferrer(async (c) => {
      const { invitation } = c.req.query();
      const returnTo = targetOf(c, config);
      const provider = await requireProvider(services, c.req.param("slug") ?? "");
      const retry = `/sign-in/with/${provider.slug}${new URL(c.req.url).search}`;
      return await withFailurePage(c, parts, { provider, retry, returnTo }, async () => {
        const { url, browserToken } = await beginProviderVisit(services, c.get("client"), {
          provider,
          purpose: "sign_in",
          returnTo,
          invitationToken: invitation,
          browserTokens: browserTokens(c),
        });
        setProviderVisitCookie(c, config, browserToken);
        return redirect(c, url.href, { status: 302 });
      });
    }),
  );

  app.get(
    `${path}/callback`,
    withoutReferrer(async (c) => {
      const provider = await requireProvider(services, c.req.param("slug") ?? "");
      const retry = `/sign-in/with/${provider.slug}`;
      return await withFailurePage(c, parts, { provider, retry, returnTo: null }, async () => {
        const { slug } = provider;
        const visit = await completeProviderVisit(services, c.get("client"), {
          slug,
          query: new URL(c.req.url).search,
          browserTokens: browserTokens(c),
        });
        return visit === null ? await expired(c, parts) : await completeSignIn(c, parts, visit);
      });
    }),
  );
}

async function completeSignIn(c: AppContext, parts: PortalParts, visit: ProviderVisit): Promise<Response> {
  const { config, services } = parts;
  const { provider: { slug, organizationId } } = visit;
  const target = returnToOf(visit.returnTo ?? undefined, config);
  const retry = withReturnTo(`/sign-in/with/${slug}`, target);
  return await withFailurePage(c, parts, { provider: visit.provider, retry, returnTo: target }, async () => {
    const result = await beginSession(c, parts, (client) => signInWithProvider(services, client, visit));
    // An organization's own provider has no button.
    if (organizationId === null) setLastMethodCookie(c, config, slug);
    if (!("secondStep" in result)) return continueTo(c, result.hasJoined ? invitationJoined : target);
    setSecondStepCookie(c, config, result.secondStep.token, { isFromProvider: true });
    return redirect(c, withReturnTo("/sign-in/second-step", target));
  });
}

/** Reloading the page leads people who are signed in to the portal. */
async function expired(c: AppContext, parts: PortalParts): Promise<Response> {
  if (await findSession(c, parts) !== null) return redirect(c, home);
  throw new AppError(
    "provider_rejected",
    "This attempt to sign in has expired, was already completed, or began in another browser. Try again.",
  );
}

function targetOf(c: AppContext, config: Config): string | null {
  const { invitation, return_to } = c.req.query();
  return invitation === undefined ? returnToOf(return_to, config) : invitationAddress(invitation);
}

const titles: Partial<Record<ErrorCode, (name: string) => string>> = {
  provider_rejected: (name) => `Couldn't sign in with ${name}`,
  provider_unavailable: (name) => `Can't reach ${name}`,
  identity_not_linked: (name) => `Connect ${name} to your account`,
  sign_up_closed: () => "No account found",
  invalid_token: () => "This invitation is no longer valid",
  organization_suspended: () => "Organization suspended",
  limit_reached: () => "Limit reached",
  rate_limited: () => "Too many attempts",
  unavailable: () => "Temporarily unavailable",
};
const retried: ReadonlySet<ErrorCode> = new Set(["provider_rejected", "provider_unavailable", "unavailable"]);

interface FailedWay {
  readonly provider: OfferedProvider;
  readonly retry: string;
  readonly returnTo: string | null;
}

/** Shows an error of a visit as a page. @throws Errors that aren't about the visit. */
async function withFailurePage(
  c: AppContext,
  parts: PortalParts,
  { provider: { slug, name }, retry, returnTo }: FailedWay,
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
    const view = failedVisitPage({
      frame: gateFrame(parts),
      title: title(name),
      message,
      retry: retried.has(code) ? retry : null,
      // After the password, the account's page offers to connect the provider.
      returnTo: code === "identity_not_linked" ? securityLink.href : returnTo,
    });
    return await sendPage(c, view, error.status as ContentfulStatusCode);
  }
}
