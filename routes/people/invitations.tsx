// Invitations to an organization: their shapes, their API for members and operators, their list, and the page that revokes one. The
// page with the list and the form that invites is in members_page.tsx.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { sessionUser } from "../../domain/access/session.ts";
import { notFoundError } from "../../domain/errors.ts";
import type { Invitation } from "../../domain/organization.ts";
import { type Access, accessTo, may, operatorAccess } from "../../services/access/mod.ts";
import {
  acceptInvitation,
  createInvitation,
  getInvitation,
  listInvitations,
  resendInvitation,
  revokeInvitation,
} from "../../services/people/mod.ts";
import { Badge } from "../../views/components/badge.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { RelativeTime } from "../../views/components/relative_time.tsx";
import { type MenuAction, RowMenu } from "../../views/components/row_menu.tsx";
import { actionsColumn, Words } from "../../views/components/table.tsx";
import type { PortalFrame } from "../../views/layout.tsx";
import { roleWords } from "../../views/text/role.ts";
import { sessionRoutes, withAccess } from "../api/endpoint.ts";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { App, AppContext, AppEnv, AppParts } from "../env.ts";
import type { Viewer } from "../portal/form.ts";
import { mountFormPage, paramOf } from "../portal/noun_pages.ts";
import type { PortalParts } from "../portal/page.ts";
import { nounPagesOf, organizationForms } from "../portal/viewer.ts";
import { idOut, idParam, personNameSchema, roleSchema, stringSchema, timeOut } from "../schemas/common.ts";
import { inviteSchema, linkTokenSchema, organizationParamsSchema } from "./schemas/people.ts";
import { organizationParamsSchema as operatorParams } from "../schemas/organization_reference.ts";
import { emailInSchema, sessionUserSchema } from "./schemas/sign_in.ts";
import { membersBack } from "./members.tsx";

const role = roleSchema.openapi({
  description: "The role in the organization after joining.",
  example: "MEMBER",
});
const schema = z.object({
  id: idOut("inv", "The invitation's id."),
  email: stringSchema("The invited email address.", "grace@example.com"),
  role,
  status: z.enum(["pending", "accepted", "revoked", "expired"]).describe(
    "Only pending invitations can be accepted.",
  ),
  invitedBy: z.object({ id: idOut("usr", "The user's id."), name: personNameSchema }).nullable().describe(
    "Who sent the invitation. Null if it was the operator of the service, or if the account was deleted.",
  ),
  invitedByOperator: z.boolean().describe("Whether the operator of the service sent the invitation."),
  createdAt: timeOut("When the invitation was created."),
  sentAt: timeOut("When the latest email was requested."),
  expiresAt: timeOut("When the link expires."),
  acceptedAt: timeOut("When the invitation was accepted.").nullable(),
}).openapi("Invitation");
export const createInvitationSchema = z.strictObject({
  email: emailInSchema.openapi({ example: "grace@example.com" }),
  role,
})
  .openapi("CreateInvitation");
const oneId = { invitationId: idParam("inv", "The invitation's id.") };
const noun = { one: "invitation", many: "invitations", schema, id: "{invitationId}" } as const;
const creationErrors = [
  "already_member",
  "already_invited",
  "limit_reached",
  "rate_limited",
  "mail_unavailable",
] as const;
const listed = "A page of invitations with any status.";
const revoked = {
  description: "Its link stops working immediately. Accepted and revoked invitations return `not_found`.",
  response: "Revoked.",
};

export function invitationRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const path = "/api/portal/organizations/{id}/invitations";
  const session = sessionRoutes(app, parts, { tag: "Organizations" });
  const route = withAccess(session, accessTo);
  const params = organizationParamsSchema.extend(oneId);
  const routes = nounRoutes(route, { ...noun, path, params, parent: organizationParamsSchema });

  routes.list({
    operationId: "listInvitations",
    summary: "List invitations",
    description: "Newest first. Requires the admin or owner role.",
    response: listed,
    errors: ["forbidden"],
  }, ({ query }, access) => listInvitations(services, access, query));
  routes.create({
    operationId: "createInvitation",
    summary: "Invite someone by email",
    description:
      "Requires the admin or owner role. Only owners can invite owners, with authentication within the last 10 minutes. " +
      "The link in the email works once, for 7 days.",
    body: createInvitationSchema,
    errors: ["forbidden", "proof_required", ...creationErrors],
  }, async ({ body }, access) => (await createInvitation(services, access, body)).invitation);
  routes.delete({
    operationId: "revokeInvitation",
    summary: "Revoke an invitation",
    ...revoked,
    errors: ["forbidden"],
  }, ({ params: { invitationId } }, access) => revokeInvitation(services, access, invitationId));
  route({
    route: `POST ${path}/{invitationId}/resend`,
    operationId: "resendInvitation",
    summary: "Send an invitation again",
    description:
      "Sends a new link that works for 7 days; the old link stops working. For an owner's invitation, this requires " +
      "authentication within the last 10 minutes.",
    params,
    responses: { 200: { description: "The invitation.", schema: z.object({ invitation: schema }) } },
    errors: ["forbidden", "proof_required", "limit_reached", "rate_limited", "mail_unavailable"],
  }, async (_c, { params: { invitationId } }, access) => ({
    invitation: await resendInvitation(services, access, invitationId),
  }));

  session({
    route: "POST /api/portal/invitations/accept",
    operationId: "acceptInvitation",
    summary: "Accept an invitation",
    description:
      "For the account with the invited email address, which must be confirmed. The organization becomes the active one. " +
      "People without an account send the token to `POST /api/auth/sign-up` instead.",
    body: linkTokenSchema,
    responses: { 200: { description: "The session user.", schema: sessionUserSchema } },
    errors: [
      "organization_suspended",
      "wrong_account",
      "email_unverified",
      "invalid_token",
      "already_member",
      "limit_reached",
    ],
  }, async (_c, { body }, actor) => sessionUser(await acceptInvitation(services, actor, body.token)));
}

export function operatorInvitationRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const operators = operatorRoutes(app, parts, { read: "organizations:read", write: "organizations:write" });
  const route = withAccess(operators, (actor, id) => operatorAccess(services, actor, id));
  const routes = nounRoutes(route, {
    ...noun,
    path: "/api/operator/organizations/{id}/invitations",
    params: operatorParams.extend(oneId),
    parent: operatorParams,
  });

  routes.list({
    operationId: "operatorListInvitations",
    summary: "List an organization's invitations",
    description: "Newest first.",
    response: listed,
  }, ({ query }, access) => listInvitations(services, access, query));
  routes.create({
    operationId: "operatorCreateInvitation",
    summary: "Invite someone to an organization by email",
    description: "The link in the email works once, for 7 days.",
    body: inviteSchema,
    errors: creationErrors,
  }, async ({ body }, access) => (await createInvitation(services, access, body)).invitation);
  routes.delete(
    {
      operationId: "operatorRevokeInvitation",
      summary: "Revoke an invitation to an organization",
      ...revoked,
    },
    ({ params: { invitationId } }, access) => revokeInvitation(services, access, invitationId),
  );
}

/** The addresses after an action on an invitation. */
export function doneHref({ frame }: Viewer, query: Record<string, string>): string {
  return `${membersBack(frame).href}?${new URLSearchParams(query)}#invitations`;
}

export function invitationPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const idOf = (c: AppContext) => paramOf(c, "invitationId");
  const pages = nounPagesOf(organizationForms(app, parts), { place: "members", backOf: membersBack });
  mountFormPage(pages, {
    path: "/invitations/:invitationId/revoke",
    async show(c, form, { access }) {
      const invitation = await getInvitation(services, access, idOf(c));
      if (!canRevoke(access, invitation)) throw notFoundError();
      return (
        <ConfirmPage
          {...form}
          title="Revoke invitation"
          heading="Revoke the invitation for {name}?"
          name={invitation.email}
          text="Its link will stop working immediately. You can invite the same address again."
          facts={[
            { label: "Role", value: roleWords[invitation.role] },
            { label: "Sent", value: <RelativeTime at={invitation.sentAt} now={form.frame.now} /> },
            { label: "Expires", value: <RelativeTime at={invitation.expiresAt} now={form.frame.now} /> },
          ]}
        />
      );
    },
    async submit(c, viewer) {
      await revokeInvitation(services, viewer.access, idOf(c));
      return doneHref(viewer, { done: "revoked", id: idOf(c) });
    },
  });
}

interface InvitationTableProps {
  readonly access: Access;
  readonly frame: PortalFrame;
  readonly invitations: readonly Invitation[];
  /** The cursor of the list's page, to which sending again returns. */
  readonly cursor: string | undefined;
}

export function InvitationTable(props: InvitationTableProps) {
  const { invitations, frame: { session, now } } = props;
  return (
    <ItemTable
      label="Invitations"
      kind="cards"
      items={invitations}
      columns={[
        {
          title: "Email",
          in: "title",
          cell: (invitation) => (
            <>
              <div class="name plain-name">{invitation.email}</div>
              <div class="muted tiny">{`Invited by ${inviterName(invitation, session.user.id)}`}</div>
            </>
          ),
        },
        { title: "Role", in: "start", cell: ({ role }) => roleWords[role] },
        {
          title: "Status",
          in: "end",
          cell: ({ status }) =>
            status === "expired" ? <Badge tone="soon">Expired</Badge> : <Badge tone="on">Pending</Badge>,
        },
        {
          title: "Sent",
          in: "start",
          drop: 2,
          isQuiet: true,
          cell: ({ sentAt }) => (
            <>
              <Words onCard="Sent " />
              <RelativeTime at={sentAt} now={now} />
            </>
          ),
        },
        {
          title: "Expires",
          in: "end",
          isQuiet: true,
          cell: ({ status, expiresAt }) => (
            <>
              <Words onCard={status === "expired" ? "Expired " : "Expires "} />
              <RelativeTime at={expiresAt} now={now} />
            </>
          ),
        },
        {
          ...actionsColumn,
          in: "actions",
          cell: (invitation) => <RowMenu about={invitation.email} actions={actionsOf(invitation, props)} />,
        },
      ]}
    />
  );
}

function actionsOf(invitation: Invitation, { access, frame, cursor }: InvitationTableProps): MenuAction[] {
  if (!canRevoke(access, invitation)) return [];
  const href = `${frame.base}/invitations/${encodeURIComponent(invitation.id)}`;
  const open = cursor === undefined ? "" : `?open=${cursor}`;
  const resend = { href: `${href}/resend${open}`, label: "Send again", icon: "mail", isForm: true } as const;
  const revoke = { href: `${href}/revoke`, label: "Revoke", icon: "trash", isDanger: true } as const;
  return frame.sendsMail && frame.viewed === null ? [resend, revoke] : [revoke];
}

function inviterName({ invitedBy, invitedByOperator }: Invitation, viewerId: string): string {
  if (invitedByOperator) return "the operator";
  return invitedBy?.id === viewerId ? "you" : invitedBy?.name ?? "a former member";
}

function canRevoke(access: Access, { role, status }: Invitation): boolean {
  return (status === "pending" || status === "expired") &&
    may(access, role === "OWNER" ? "owners.manage" : "members.manage");
}
