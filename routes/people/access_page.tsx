// The page for signed-in people to whom forward authentication denies access. It checks the session again: its query only
// says which conditions apply. It never redirects without a click, so that no browser ends up in a loop. The page doesn't
// reveal whether an organization exists to people who aren't members.
import { z } from "@hono/zod-openapi";
import type { Child } from "hono/jsx";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { SessionActor } from "../../domain/access/actor.ts";
import { isRoleAtLeast } from "../../domain/access/permissions.ts";
import { notFoundError } from "../../domain/errors.ts";
import {
  accessAddress,
  accessPath,
  type ForwardConditions,
  judgeSession,
} from "../../domain/meter/forward_auth.ts";
import { withReturnTo } from "../../domain/people/return_to.ts";
import { accessTo } from "../../services/access/mod.ts";
import { listOwners, requestEmailVerification, switchOrganization } from "../../services/people/mod.ts";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { Form } from "../../views/components/form.tsx";
import { Notice, type NoticeProps } from "../../views/components/notice.tsx";
import { type GateFrame, GatePage } from "../../views/layout.tsx";
import { roleWords } from "../../views/text/role.ts";
import { readFormBody } from "../body.ts";
import type { App, AppContext } from "../env.ts";
import { formError } from "../portal/errors.ts";
import { gateFrame, type PortalParts, redirect, sendPage } from "../portal/page.ts";
import { continueTo, returnToOf } from "./sign_in.tsx";
import { check } from "../schemas/check.ts";
import { forwardConditionsShape } from "../keys/schemas/forward_auth.ts";
import { findSession, sessionActor } from "../session.ts";
import { signOutOfPortal } from "../sign_out.ts";

const conditionsSchema = z.object(forwardConditionsShape);
const emailSent: NoticeProps = { tone: "done", text: "Email sent. Earlier links no longer work." };

export function portalAccessRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;

  async function show(
    c: AppContext,
    session: SessionActor,
    given: { notice?: NoticeProps; status?: ContentfulStatusCode } = {},
  ): Promise<Response> {
    const shown = await readAccess(c, session, parts);
    const { kind } = shown.state;
    const notice = given.notice ?? (kind === "email" && c.req.query("sent") === "1" ? emailSent : null);
    const page = accessPage(gateFrame(parts), { ...shown, notice });
    return await sendPage(c, page, given.status ?? (kind === "granted" ? 200 : 403));
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

/** Finds the condition that the session doesn't meet. */
async function stateOf(session: SessionActor, conditions: ForwardConditions, { services }: PortalParts) {
  const result = judgeSession(session, conditions);
  if (!("reason" in result)) return { kind: "granted" as const };
  if (result.reason === "organization") return { kind: "organization" as const };
  if (result.reason === "email") return { kind: "email" as const, sendsMail: services.mail.mode !== "none" };
  const { role, membership } = result;
  return {
    kind: "role" as const,
    role,
    /** The membership without the role; null without an active organization. */
    membership,
    /** Some of the people who can change the role. */
    owners: membership === null
      ? []
      : await listOwners(services, accessTo(session, membership.organizationId)),
    /** Memberships with a sufficient role. If a certain organization is required, switching to another one doesn't help. */
    others: conditions.organization === undefined
      ? session.memberships.filter((one) => isRoleAtLeast(one.role, role))
      : [],
  };
}

async function readAccess(c: AppContext, session: SessionActor, parts: PortalParts) {
  const { target, conditions } = accessRequest(c, parts);
  return {
    user: session.user,
    state: await stateOf(session, conditions, parts),
    /** The application; null if unknown. */
    application: target === null ? null : new URL(target, parts.config.baseUrl),
    /** The page's own address, for its forms. */
    address: accessAddress(target, conditions),
  };
}

type Shown = Awaited<ReturnType<typeof readAccess>>;

function accessPage(frame: GateFrame, { notice, ...shown }: Shown & { notice: NoticeProps | null }) {
  const { user, state, application, address } = shown;
  const isGranted = state.kind === "granted";
  const title = isGranted
    ? "You have access"
    : state.kind === "email"
    ? "Confirm your email address"
    : "You don't have access";
  return (
    <GatePage title={title} frame={frame}>
      <div class="card">
        <div>
          <h1>{title}</h1>
          <p class="muted">
            <Reason {...shown} />
          </p>
        </div>
        {notice === null ? null : <Notice {...notice} />}
        <Remedy {...shown} />
        {application && (
          <ButtonLink tone={isGranted ? "primary" : "plain"} href={application.href}>
            {isGranted ? "Continue" : "Try again"}
          </ButtonLink>
        )}
        <ActionForm address={address} act="sign-out">
          <SubmitButton tone="plain">Use another account</SubmitButton>
        </ActionForm>
        <p class="muted small">
          Signed in as <bdi>{user.email}</bdi>. <a href="/portal">Go to your account</a>
        </p>
      </div>
    </GatePage>
  );
}

function Reason({ state, user, application }: Shown) {
  const name = application === null ? "This application" : <bdi>{application.host}</bdi>;
  switch (state.kind) {
    case "granted":
      return <>Your account meets all requirements of {name}.</>;
    case "email":
      return (
        <>
          {name} is only open to people with a confirmed email address. {state.sendsMail
            ? (
              <>
                Open the link in the email we sent to <bdi>{user.email}</bdi>, then try again.
              </>
            )
            : "Email isn't set up on this server. Contact its administrator."}
        </>
      );
    case "organization":
      return (
        <>
          {name}{" "}
          is only open to members of another organization. Ask the person who sent you here for an invitation,
          or use another account.
        </>
      );
    case "role":
      return (
        <>
          {name} requires the role {roleWords[state.role]}
          {state.role === "OWNER" ? "" : " or higher"}.{" "}
          {state.membership === null ? "You don't have an active organization." : (
            <>
              Your role in <bdi>{state.membership.name}</bdi> is {roleWords[state.membership.role]}.
            </>
          )}
        </>
      );
  }
}

function Remedy({ state, address }: Shown) {
  if (state.kind === "email" && state.sendsMail) {
    return (
      <ActionForm address={address} act="send-email">
        <SubmitButton>Resend email</SubmitButton>
      </ActionForm>
    );
  }
  if (state.kind !== "role") return null;
  return (
    <>
      {state.owners.length === 0 ? null : (
        <div>
          <p>Ask an owner to change your role:</p>
          <ul>
            {state.owners.map(({ name, email }) => (
              <li>
                <bdi>{name}</bdi> <span class="muted small">{email}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {state.others.map(({ organizationId, name }) => (
        <ActionForm address={address} act="switch" organizationId={organizationId}>
          <SubmitButton>
            Switch to <bdi>{name}</bdi>
          </SubmitButton>
        </ActionForm>
      ))}
    </>
  );
}

function ActionForm(
  { address, act, organizationId, children }: {
    address: string;
    act: string;
    organizationId?: string;
    children: Child;
  },
) {
  return (
    <Form class="part" action={address} hidden={{ act, ...(organizationId ? { organizationId } : {}) }}>
      {children}
    </Form>
  );
}
