// The page that shows an owner what their own browser sent, and an operator also what proxies made of it. Neither the page nor
// its form changes anything.
import { requestFacts } from "../../domain/browser_request.ts";
import { forbiddenError } from "../../domain/errors.ts";
import { hasPermission } from "../../domain/permissions.ts";
import { hasOperatorSignIn } from "../../services/operator/operator_access.ts";
import { browserRequestPage } from "../../views/browser_request.tsx";
import { isTrustedProxy, peerAddress } from "../client_address.ts";
import { sessionTokens } from "../cookies.ts";
import type { App, AppContext } from "../env.ts";
import { browserRequestPath } from "../middleware/cross_site.ts";
import { type MemberActor, memberRoutes, portalFrame, type PortalParts, sendPage } from "./page.ts";

export function browserRequestRoutes(app: App, parts: PortalParts): void {
  const { get, post } = memberRoutes(app, parts);
  const { baseUrl, trustedProxies } = parts.config;

  function show(c: AppContext, session: MemberActor, { isForm }: { isForm: boolean }) {
    if (!hasPermission(session.organization.role, "organization.manage")) throw forbiddenError();
    const header = (name: string) => c.get("headers")[name] ?? null;
    const peer = peerAddress(c);
    const { address } = c.get("client");
    const withProxy = session.isOperator && hasOperatorSignIn(session, parts.services.clock());
    const facts = requestFacts(
      {
        peer,
        isPeerTrusted: isTrustedProxy(peer, trustedProxies),
        forwardedFor: header("x-forwarded-for"),
        address,
        isAddressTrusted: isTrustedProxy(address, trustedProxies),
        forwardedProto: header("x-forwarded-proto"),
        host: header("host"),
        sessionCookies: sessionTokens(header("cookie") ?? undefined).length,
        userAgent: header("user-agent"),
        form: isForm ? { origin: header("origin"), site: header("sec-fetch-site") } : null,
      },
      baseUrl,
      { withProxy },
    );
    return sendPage(c, browserRequestPage({ frame: portalFrame(parts, session), facts, withProxy, isForm }));
  }

  get(browserRequestPath, (c, session) => show(c, session, { isForm: false }));
  post(browserRequestPath, (c, session) => show(c, session, { isForm: true }));
}
