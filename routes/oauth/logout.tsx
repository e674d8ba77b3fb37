// Signing out from an application. It reads the session's cookie, so only a person's navigation or a form of ours ends something.
import { isOfSession, type LogoutRequest, readLogout } from "../../services/oauth/mod.ts";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { GateCard } from "../../views/components/gate_card.tsx";
import type { GateFrame } from "../../views/layout.tsx";
import { readFormBody } from "../body.ts";
import type { App, AppContext } from "../env.ts";
import { gateFrame, type PortalParts, redirect, sendPage, withoutReferrer } from "../portal/page.ts";
import { findSession } from "../session.ts";
import { signOutOfPortal } from "../sign_out.ts";
import { goOnPage } from "./consent_pages.tsx";
import { isNavigation } from "./navigation.ts";

const path = "/oauth/logout";
const confirmSignOutPath = "/sign-out/confirm";
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
      return await sendPage(c, confirmSignOutPage({ frame, email: session.user.email, request, hidden }));
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
    const title = "You're signed out";
    return await sendPage(c, goOnPage({ frame, title, act: "Going back to", href: returnTo }));
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

/** Asks, because any site can lead here. */
function confirmSignOutPage({ frame, email, request: { client }, hidden }: {
  frame: GateFrame;
  email: string;
  request: LogoutRequest;
  hidden: Readonly<Record<string, string>>;
}) {
  const text = (
    <>
      {client === null ? "An application" : <bdi>{client.name}</bdi>}{" "}
      asks to sign you out. This ends the session of <bdi>{email}</bdi>{" "}
      here and in the applications that use it.
    </>
  );
  return (
    <GateCard frame={frame} title="Sign out?" text={text} action={confirmSignOutPath} hidden={hidden}>
      <SubmitButton>Sign out</SubmitButton>
      <ButtonLink href="/portal">Stay signed in</ButtonLink>
    </GateCard>
  );
}
