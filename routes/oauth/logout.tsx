// Signing out from an application. It reads the session's cookie, so only a person's navigation or a form of ours ends something.
import { isOfSession, type LogoutRequest, readLogout } from "../../services/oauth/mod.ts";
import { confirmSignOutPage, confirmSignOutPath, signedOutPage } from "../../views/oauth/logout.tsx";
import { readFormBody } from "../body.ts";
import type { App, AppContext } from "../env.ts";
import { gateFrame, type PortalParts, redirect, sendPage, withoutReferrer } from "../portal/page.ts";
import { findSession } from "../session.ts";
import { signOutOfPortal } from "../sign_out.ts";
import { isNavigation } from "./navigation.ts";

const path = "/oauth/logout";
const signedOut = "/sign-in?signed_out=1";
/** Parameters that the question carries on. The hint has done its work. */
const carried = ["client_id", "post_logout_redirect_uri", "state"];

export function logoutRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  const frame = gateFrame(parts);

  app.get(
    path,
    withoutReferrer(async (c) => {
      const { searchParams } = new URL(c.req.url);
      const session = await findSession(c, parts);
      const request = await readLogout(services, searchParams, session);
      if (session === null) return redirect(c, request.returnTo ?? signedOut, { status: 302 });
      if (isNavigation(c) && isOfSession(request, session)) {
        await signOutOfPortal(c, parts);
        return redirect(c, request.returnTo ?? signedOut, { status: 302 });
      }
      const hidden = hiddenOf(searchParams, request);
      const clientName = request.client?.name ?? null;
      return await sendPage(c, confirmSignOutPage({ frame, email: session.user.email, clientName, hidden }));
    }),
  );

  // Another site's form comes without our cookies.
  app.post(
    path,
    withoutReferrer(async (c) => redirect(c, `${path}?${new URLSearchParams(await readFormBody(c))}`)),
  );

  app.post(confirmSignOutPath, async (c: AppContext) => {
    const parameters = new URLSearchParams(await readFormBody(c));
    const request = await readLogout(services, parameters, await findSession(c, parts));
    await signOutOfPortal(c, parts);
    const { returnTo } = request;
    if (returnTo === null) return redirect(c, signedOut, { frameChanges: true });
    return await sendPage(c, signedOutPage({ frame, href: returnTo, host: new URL(returnTo).host }));
  });
  app.get(confirmSignOutPath, (c) => redirect(c, "/"));
}

/** The client of the hint takes the hint's place. */
function hiddenOf(parameters: URLSearchParams, { client }: LogoutRequest): Record<string, string> {
  const given = carried.flatMap((name) => {
    const value = parameters.get(name);
    return value === null || value === "" ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(given), ...(client === null ? {} : { client_id: client.id }) };
}
