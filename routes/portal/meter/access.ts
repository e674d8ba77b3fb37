// The page that forward authentication sends a rejected browser to. It judges the session itself: of its query it believes
// only what the application asks for, and it redirects nowhere by itself, so that no browser goes in circles.
import { z } from "@hono/zod-openapi";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { notFoundError } from "../../../domain/errors.ts";
import {
  accessAddress,
  accessPath,
  type ForwardConditions,
  judgeSession,
} from "../../../domain/meter/forward_auth.ts";
import { isRoleAtLeast } from "../../../domain/permissions.ts";
import { listOwners } from "../../../services/organization/members.ts";
import { withReturnTo } from "../../../domain/sign_in/return_to.ts";
import type { SessionActor } from "../../../domain/actor.ts";
import { requestEmailVerification } from "../../../services/account/email_addresses.ts";
import { accessPage, type AccessState } from "../../../views/meter/access.tsx";
import type { NoticeProps } from "../../../views/components/notice.tsx";
import type { Assets } from "../../../views/layout.tsx";
import { check } from "../../schemas/check.ts";
import { forwardConditionsShape } from "../../schemas/forward_auth.ts";
import { readFormBody } from "../../body.ts";
import type { App, AppContext, AppParts } from "../../env.ts";
import { findSession, sessionActor, signOutOfPortal } from "../../session.ts";
import { formError } from "../errors.ts";
import { gateFrame, redirect, sendPage } from "../page.ts";
import { continueTo, returnToOf } from "../sign_in/sign_in.ts";
import { switchOrganization } from "../../../services/sign_in/sessions.ts";

const conditionsSchema = z.object(forwardConditionsShape);
const emailSent: NoticeProps = { tone: "done", text: "Email sent. Earlier links no longer work." };

/** What the page's address says. */
interface Asked {
  readonly target: string | null;
  readonly conditions: ForwardConditions;
}

/** Mounts `/portal/access`. */
export function portalAccessRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { config, services } = parts;
  const { mail } = services;
  const frame = gateFrame(parts, assets);

  function asked(c: AppContext): Asked {
    const { organization, role, email, return_to } = c.req.query();
    const conditions = check(conditionsSchema, { organization, role, email }, "query") as ForwardConditions;
    return { target: returnToOf(return_to, config), conditions };
  }

  async function stateOf(session: SessionActor, conditions: ForwardConditions): Promise<AccessState> {
    const judged = judgeSession(session, conditions);
    if (!("reason" in judged)) return { kind: "granted" };
    switch (judged.reason) {
      case "organization":
        return { kind: "organization" };
      case "email":
        return { kind: "email", sendsMail: mail.mode !== "none" };
      case "role": {
        const { role, membership } = judged;
        const owners = membership === null
          ? []
          : await listOwners(services, session, membership.organizationId);
        // Where the application names an organization, the active one makes no difference.
        const others = conditions.organization === undefined
          ? session.memberships.filter((one) => isRoleAtLeast(one.role, role))
          : [];
        return { kind: "role", role, membership, owners, others };
      }
    }
  }

  async function show(
    c: AppContext,
    session: SessionActor,
    given: { notice?: NoticeProps; status?: ContentfulStatusCode } = {},
  ): Promise<Response> {
    const { target, conditions } = asked(c);
    const state = await stateOf(session, conditions);
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

  /** Runs a handler for a signed-in person; everyone else signs in and goes to the application. */
  function bySession(handler: (c: AppContext, session: SessionActor) => Promise<Response>) {
    return async (c: AppContext): Promise<Response> => {
      const session = await findSession(c, parts);
      if (session !== null) return await handler(c, sessionActor(c, session));
      return redirect(c, withReturnTo("/sign-in", asked(c).target));
    };
  }

  app.get(accessPath, bySession((c, session) => show(c, session)));

  app.post(
    accessPath,
    bySession(async (c, session) => {
      const { target, conditions } = asked(c);
      const { act, organizationId = "" } = await readFormBody(c);
      switch (act) {
        case "send-email":
          try {
            await requestEmailVerification(services, session);
            return redirect(c, `${accessAddress(target, conditions)}&sent=1`);
          } catch (error) {
            const { message, status } = formError(c, error);
            return await show(c, session, { notice: { tone: "refused", text: message ?? "" }, status });
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
