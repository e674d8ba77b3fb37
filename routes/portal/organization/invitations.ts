// The page of members and invitations, with the form that invites; and what is done about one invitation.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { notFoundError } from "../../../domain/errors.ts";
import { pageItemsDefault, pageItemsMax } from "../../../domain/limits.ts";
import { hasPermission } from "../../../domain/permissions.ts";
import { type Role, roles } from "../../../domain/sign_in/session.ts";
import {
  createInvitation,
  getInvitation,
  type Invitation,
  listInvitations,
  resendInvitation,
  revokeInvitation,
} from "../../../services/organization/invitations.ts";
import { countMembers, listMembers } from "../../../services/organization/members.ts";
import type { Assets } from "../../../views/layout.tsx";
import { type InvitationRow, type Inviting, membersPage } from "../../../views/organization/members.tsx";
import { revokeInvitationPage } from "../../../views/organization/revoke_invitation.tsx";
import { check } from "../../schemas/check.ts";
import { createInvitationSchema } from "../../schemas/people.ts";
import type { App, AppContext, AppParts } from "../../env.ts";
import { formError } from "../errors.ts";
import { memberActs } from "./members.ts";
import {
  askToReauthenticate,
  inOrganization,
  type MemberActor,
  needsReauthentication,
  portalFrame,
  readOrganizationForm,
  redirect,
  sendPage,
} from "../page.ts";

const path = "/portal/members";
const flashes: ReadonlyMap<string, string> = new Map([
  ["invited", "The invitation is on its way."],
  ["resent", "A new link is on its way. The one before it stopped working."],
  ["revoked", "The invitation is revoked. Its link does not work any more."],
  ["role", "The role is changed."],
  ["removed", "The member is removed."],
  ["owner", "The organization has a new owner. You are an admin now."],
  ["created", "The organization is there, and you are in it. Now invite somebody."],
  ["joined", "You have joined. This is everybody here."],
]);

interface Shown {
  readonly form?: Inviting["form"];
  readonly trouble?: string | null;
  readonly status?: ContentfulStatusCode;
}

/** Mounts `/portal/members` and `/portal/invitations/…`. */
export function portalInvitationRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;
  const list = membersList(parts, assets);

  app.get(path, inOrganization(parts, (c, session) => list(c, session)));

  app.post(
    path,
    inOrganization(parts, async (c, session) => {
      const form = await readOrganizationForm(c, session);
      const values = { email: form["email"] ?? "", role: form["role"] ?? "" };
      try {
        const input = check(createInvitationSchema, values, "body");
        await createInvitation(services, session, {
          organizationId: session.organization.organizationId,
          ...input,
        });
        return redirect(c, `${path}?done=invited`);
      } catch (error) {
        if (needsReauthentication(error)) {
          return askToReauthenticate(c, `${path}?${new URLSearchParams(values)}`);
        }
        const { message, fields, status } = formError(c, error);
        const about = aboutAddress(error, message);
        return await list(c, session, {
          form: { values, fieldErrors: { ...fields, ...about }, error: "email" in about ? null : message },
          status,
        });
      }
    }),
  );

  app.post(
    "/portal/invitations/:id/resend",
    inOrganization(parts, async (c, session) => {
      try {
        await resendInvitation(services, session, place(c, session));
        return redirect(c, `${path}?done=resent`);
      } catch (error) {
        if (needsReauthentication(error)) return askToReauthenticate(c, path);
        const { message, status } = formError(c, error);
        return await list(c, session, { trouble: message, status });
      }
    }),
  );
  // Whoever loads the address of the form again.
  app.get("/portal/invitations/:id/resend", (c) => redirect(c, path));

  app.get(
    "/portal/invitations/:id/revoke",
    inOrganization(parts, async (c, session) => {
      const invitation = await getInvitation(services, session, place(c, session));
      // What is over, or another's to end, has no such page.
      if (!canRevoke(session.organization.role, invitation)) throw notFoundError();
      return sendPage(
        c,
        revokeInvitationPage({ frame: portalFrame(parts, assets, session), invitation }),
      );
    }),
  );

  app.post(
    "/portal/invitations/:id/revoke",
    inOrganization(parts, async (c, session) => {
      await revokeInvitation(services, session, place(c, session));
      return redirect(c, `${path}?done=revoked`);
    }),
  );
}

/** @returns What answers with the page of members. */
function membersList(parts: AppParts, assets: Assets) {
  const { services } = parts;
  const { mail } = services;

  return async function list(c: AppContext, session: MemberActor, given: Shown = {}): Promise<Response> {
    const { organizationId, role } = session.organization;
    const cursor = queryOf(c, "cursor");
    const [{ members: some, nextCursor }, counts, found] = await Promise.all([
      listMembers(services, session, { organizationId, limit: pageItemsDefault, cursor }),
      countMembers(services, session, organizationId),
      hasPermission(role, "members.manage") ? invitationList(c, session) : null,
    ]);
    const viewer = { userId: session.user.id, role };
    const page = membersPage({
      frame: portalFrame(parts, assets, session),
      members: some.map((member) => ({
        ...member,
        isYou: member.user.id === session.user.id,
        acts: memberActs(viewer, { userId: member.user.id, role: member.role }, { owners: counts.OWNER }),
      })),
      counts,
      nextHref: nextCursor === null ? null : `${path}?cursor=${encodeURIComponent(nextCursor)}`,
      inviting: found === null ? null : {
        ...found,
        roles: roles.filter((one) => one !== "OWNER" || hasPermission(role, "owners.manage")),
        // Whoever had to give the password meanwhile finds what they typed.
        form: given.form ?? {
          values: { email: queryOf(c, "email") ?? "", role: queryOf(c, "role") ?? "MEMBER" },
          fieldErrors: {},
          error: null,
        },
      },
      flash: c.req.method === "GET" ? flashes.get(c.req.query("done") ?? "") ?? null : null,
      trouble: given.trouble ?? null,
    });
    return sendPage(c, page, given.status);
  };

  /** Open ones first: their pages, then those of the others. */
  async function invitationList(c: AppContext, session: MemberActor) {
    const openCursor = queryOf(c, "open");
    const endedCursor = queryOf(c, "ended");
    const open = endedCursor === undefined
      ? await page(session, { limit: pageItemsMax, cursor: openCursor, isOpen: true })
      : { invitations: [], nextCursor: null };
    const ended = open.nextCursor === null
      ? await page(session, { limit: pageItemsDefault, cursor: endedCursor, isOpen: false })
      : { invitations: [], nextCursor: null };
    const next = new URLSearchParams();
    if (open.nextCursor !== null) next.set("open", open.nextCursor);
    else if (ended.nextCursor !== null) next.set("ended", ended.nextCursor);
    return {
      invitations: [...open.invitations, ...ended.invitations].map((one) => rowOf(session, one)),
      nextHref: next.size === 0 ? null : `${path}?${next}#invitations`,
      isContinued: openCursor !== undefined || endedCursor !== undefined,
    };
  }

  function page(
    session: MemberActor,
    options: { limit: number; cursor: string | undefined; isOpen: boolean },
  ) {
    const { organizationId } = session.organization;
    return listInvitations(services, session, { organizationId, ...options });
  }

  function rowOf(session: MemberActor, invitation: Invitation): InvitationRow {
    const mayRevoke = canRevoke(session.organization.role, invitation);
    return {
      ...invitation,
      invitedByYou: invitation.invitedBy?.id === session.user.id,
      canRevoke: mayRevoke,
      canResend: mayRevoke && mail.mode !== "none",
    };
  }
}

function canRevoke(role: Role, { role: given, status }: Invitation): boolean {
  return (status === "pending" || status === "expired") &&
    (given !== "OWNER" || hasPermission(role, "owners.manage"));
}

/** Some refusals are about the address alone. */
function aboutAddress(error: unknown, message: string | null): { email?: string } {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const isAbout = code === "already_member" || code === "already_invited";
  return isAbout && message !== null ? { email: message } : {};
}

function place(c: AppContext, { organization }: MemberActor) {
  return { organizationId: organization.organizationId, id: c.req.param("id") ?? "" };
}

function queryOf(c: AppContext, name: string): string | undefined {
  return c.req.method === "GET" ? c.req.query(name) : undefined;
}
