// The page that shows an owner what their own browser sent. It reads headers and changes nothing, its form neither.
import { requestFacts } from "../../domain/browser_request.ts";
import { forbiddenError } from "../../domain/errors.ts";
import { mayDo } from "../../domain/permissions.ts";
import { checkPage } from "../../views/check.tsx";
import type { Assets } from "../../views/layout.tsx";
import { isTrustedProxy } from "../client_address.ts";
import { sessionTokens } from "../cookies.ts";
import type { App, AppContext, AppParts } from "../env.ts";
import { echoPath } from "../middleware/cross_site.ts";
import { inOrganization, type MemberActor, portalFrame, sendPage } from "./page.ts";

/** Mounts `/portal/check`. */
export function portalCheckRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { baseUrl, trustedProxies } = parts.config;

  function show(c: AppContext, session: MemberActor, { isForm }: { isForm: boolean }) {
    if (!mayDo(session.organization.role, "organization.manage")) throw forbiddenError();
    const header = (name: string) => c.get("headers")[name] ?? null;
    const peer = c.env?.remoteAddr?.hostname ?? "127.0.0.1";
    const { address } = c.get("client");
    const facts = requestFacts({
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
    }, baseUrl);
    return sendPage(c, checkPage({ frame: portalFrame(parts, assets, session), facts, isForm }));
  }

  app.get(echoPath, inOrganization(parts, (c, session) => show(c, session, { isForm: false })));
  app.post(echoPath, inOrganization(parts, (c, session) => show(c, session, { isForm: true })));
}
