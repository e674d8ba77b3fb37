// The API of invitations.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { sessionUser } from "../../../domain/sign_in/session.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { byActor, requireSession } from "../../session.ts";
import { mount } from "../endpoint.ts";
import {
  createInvitationSchema,
  invitationParamsSchema,
  invitationResponseSchema,
  invitationsSchema,
  linkTokenSchema,
  listQuerySchema,
  organizationParamsSchema,
} from "../../schemas/people.ts";
import { sessionUserSchema } from "../../schemas/sign_in.ts";

const path = "/api/portal/organizations/{id}/invitations";

/** Mounts `/api/portal/organizations/{id}/invitations` and `/api/portal/invitations/accept`. */
export function invitationRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { invitations } = parts.services;
  const session = byActor(parts);
  const common = { tag: "Organizations", security: "session" } as const;
  const place = (params: { id: string; invitationId: string }) => ({
    organizationId: params.id,
    id: params.invitationId,
  });

  mount(app, {
    ...common,
    method: "get",
    path,
    operationId: "listInvitations",
    summary: "List invitations, newest first",
    description: "For an ADMIN or OWNER.",
    params: organizationParamsSchema,
    query: listQuerySchema,
    responses: {
      200: { description: "A page of invitations, those included that ended.", schema: invitationsSchema },
    },
    errors: ["forbidden"],
  }, {
    ...session,
    handle: async (c, { params, query }, actor) =>
      c.json(await invitations.listInvitations(actor, params.id, query)),
  });

  mount(app, {
    ...common,
    method: "post",
    path,
    operationId: "createInvitation",
    summary: "Invite somebody by mail",
    description:
      "For an ADMIN or OWNER; only an OWNER invites an OWNER, with a proof of who they are that is at most ten minutes " +
      "old. The link in the mail works once, for seven days.",
    params: organizationParamsSchema,
    body: createInvitationSchema,
    responses: { 201: { description: "The invitation.", schema: invitationResponseSchema } },
    errors: [
      "forbidden",
      "proof_required",
      "already_member",
      "already_invited",
      "limit_reached",
      "rate_limited",
      "mail_unavailable",
    ],
  }, {
    ...session,
    handle: async (c, { params, body }, actor) =>
      c.json({ invitation: await invitations.createInvitation(actor, params.id, body) }, 201),
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/{invitationId}/resend`,
    operationId: "resendInvitation",
    summary: "Send an invitation again",
    description:
      "With a new link and seven more days; the old link ends. That of an OWNER takes a proof of who you are that is at " +
      "most ten minutes old.",
    params: invitationParamsSchema,
    responses: { 200: { description: "The invitation.", schema: invitationResponseSchema } },
    errors: ["forbidden", "proof_required", "limit_reached", "rate_limited", "mail_unavailable"],
  }, {
    ...session,
    handle: async (c, { params }, actor) =>
      c.json({ invitation: await invitations.resendInvitation(actor, place(params)) }),
  });

  mount(app, {
    ...common,
    method: "delete",
    path: `${path}/{invitationId}`,
    operationId: "revokeInvitation",
    summary: "Revoke an invitation",
    description: "Its links end at once. One that was accepted or revoked before is `not_found`.",
    params: invitationParamsSchema,
    responses: { 204: { description: "Revoked." } },
    errors: ["forbidden"],
  }, {
    ...session,
    async handle(c, { params }, actor) {
      await invitations.revokeInvitation(actor, place(params));
      return c.body(null, 204);
    },
  });

  mount(app, {
    ...common,
    method: "post",
    path: "/api/portal/invitations/accept",
    operationId: "acceptInvitation",
    summary: "Join an organization by an invitation",
    description:
      "Signed in with the invited address, which must be confirmed. The organization becomes the active one. " +
      "Somebody without an account sends the token to `POST /api/auth/sign-up` instead.",
    body: linkTokenSchema,
    responses: { 200: { description: "The session user.", schema: sessionUserSchema } },
    errors: ["wrong_account", "email_unverified", "invalid_token", "already_member", "limit_reached"],
  }, {
    ...session,
    async handle(c, { body }, actor) {
      await invitations.acceptInvitation(actor, body.token);
      return c.json(sessionUser(await requireSession(c, parts)));
    },
  });
}
