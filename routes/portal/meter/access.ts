// The page for signed-in people to whom forward authentication denies access. It checks the session again: its query only
// says which conditions apply. It never redirects without a click, so that no browser ends up in a loop.
import { z } from "@hono/zod-openapi";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { notFoundError } from "../../../domain/errors.ts";
import {
  accessAddress,
  accessPath,
  type ForwardConditions,
  judgeSession,
} from "../../../domain/meter/forward_auth.ts";
import { isRoleAtLeast } from "../../../domain/access/permissions.ts";
import { accessTo } from "../../../services/access/mod.ts";
import { listOwners, requestEmailVerification, switchOrganization } from "../../../services/people/mod.ts";
import { withReturnTo } from "../../../domain/people/return_to.ts";
import type { SessionActor } from "../../../domain/access/actor.ts";
import { accessPage, type AccessState } from "../../../views/meter/access.tsx";
import type { NoticeProps } from "../../../views/components/notice.tsx";
import { check } from "../../schemas/check.ts";
import { forwardConditionsShape } from "../../schemas/forward_auth.ts";
import { readFormBody } from "../../body.ts";
import type { App, AppContext } from "../../env.ts";
import { findSession, sessionActor } from "../../session.ts";
import { signOutOfPortal } from "../../sign_out.ts";
import { formError } from "../errors.ts";
import { gateFrame, type PortalParts, redirect, sendPage } from "../page.ts";
import { continueTo, returnToOf } from "../sign_in/sign_in.ts";

const conditionsSchema = z.object(forwardConditionsShape);
const emailSent: NoticeProps = { tone: "done", text: "Email sent. Earlier links no longer work." };

export function portalAccessRoutes(app: App, parts: PortalParts): void {
  const { config, services } = parts;
  const frame = gateFrame(parts);

  async function show(
    c: AppContext,
    session: SessionActor,
    given: { notice?: NoticeProps; status?: ContentfulStatusCode } = {},
  ): Promise<Response> {
    const { target, conditions } = accessRequest(c, parts);
    const state = await stateOf(session, conditions, parts);
    const href = target === null ? null : new URL(target, config.baseUrl);
    const page = accessPage({
      frame,
      user: session.user,
      state,
      application: href === null ? null : { host: href.host, href: href.href },
      address: accessAddress(target, conditions),
      notice: given.notice ?? (state.kind === "email" && c.req.query("sent") === "1" ? emailSent : null),
    });
    return await sendPage(c, page, given.status ?? (state.kind === "granted" ? 200 : 403));
  }

  /** Everyone who isn't signed in goes to the sign-in page, and from there to the application. */
  function withSession(handler: (c: AppContext, session: SessionActor) => Promise<Response>) {
    return async (c: AppContext): Promise<Response> => {
      const session = await findSession(c, parts);
      if (session !== null) return await handler(c, sessionActor(c, session));
      return redirect(c, withReturnTo("/sign-in", accessRequest(c, parts).target));
    };
  }

  app.get(accessPath, withSession((c, session) => show(c, session)));

  app.post(
    accessPath,
    withSession(async (c, session) => {
      const { target, conditions } = accessRequest(c, parts);
      const { act, organizationId = "" } = await readFormBody(c);
      switch (act) {
        case "send-email":
          try {
            await requestEmailVerification(services, session);
            return redirect(c, `${accessAddress(target, conditions)}&sent=1`);
          } catch (error) {
            const { message, status } = formError(c, error);
            return await show(c, session, { notice: { tone: "error", text: message ?? "" }, status });
          }
        case "switch":
          await switchOrganization(services, session, organizationId);
          return continueTo(c, target);
        case "sign-out": {
          await signOutOfPortal(c, parts);
          const signIn = withReturnTo("/sign-in", target);
          return redirect(c, `${signIn}${target === null ? "?" : "&"}signed_out=1`);
        }
        default:
          throw notFoundError();
      }
    }),
  );
}

/** Returns the conditions, and where to return to. */
function accessRequest(c: AppContext, { config }: PortalParts) {
  const { organization, role, email, return_to } = c.req.query();
  const conditions: ForwardConditions = check(conditionsSchema, { organization, role, email }, "query");
  return { target: returnToOf(return_to, config), conditions };
}

async function stateOf(
  session: SessionActor,
  conditions: ForwardConditions,
  { services }: PortalParts,
): Promise<AccessState> {
  const result = judgeSession(session, conditions);
  if (!("reason" in result)) return { kind: "granted" };
  if (result.reason === "organization") return { kind: "organization" };
  if (result.reason === "email") return { kind: "email", sendsMail: services.mail.mode !== "none" };
  const { role, membership } = result;
  return {
    kind: "role",
    role,
    membership,
    owners: membership === null
      ? []
      : await listOwners(services, accessTo(session, membership.organizationId)),
    // If the application requires a certain organization, switching to another one doesn't help.
    others: conditions.organization === undefined
      ? session.memberships.filter((one) => isRoleAtLeast(one.role, role))
      : [],
  };
}
