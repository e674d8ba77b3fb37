// The console's page of an organization's members and invitations.
import { pageItemsDefault } from "../../../domain/limits.ts";
import {
  getInvitation,
  listInvitations,
  listMembers,
  revokeInvitation,
} from "../../../services/operator/organization_members.ts";
import { resolveOrganization } from "../../../services/access.ts";
import { organizationsHref } from "../../../views/operator/links.ts";
import { organizationActionHref } from "../../../views/operator/organization.tsx";
import {
  organizationMembersPage,
  revokeInvitationPage,
} from "../../../views/operator/organization_members.tsx";
import type { App, AppContext } from "../../env.ts";
import { flashOf } from "../form.ts";
import { type PortalParts, sendPage } from "../page.ts";
import { idOf } from "./organization.ts";
import { mountConfirmation, operatorFrame, operatorPages } from "./page.ts";

const path = `${organizationsHref}/:id`;

/** Mounts `/operator/organizations/:id/members` and the page that revokes an invitation. */
export function operatorOrganizationMemberPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  operatorPages(app, parts).get(`${path}/members`, async (c, actor) => {
    const organization = await resolveOrganization(services, idOf(c));
    const input = { idText: organization.id, limit: pageItemsDefault };
    const [{ members, nextCursor }, { invitations }] = await Promise.all([
      listMembers(services, actor, { ...input, cursor: c.req.query("cursor") }),
      listInvitations(services, { ...input, isOpen: true }),
    ]);
    const page = organizationMembersPage({
      frame: operatorFrame(parts, actor),
      organization,
      members,
      nextHref: nextCursor && `${organizationActionHref(organization.id, "members")}?cursor=${nextCursor}`,
      invitations,
      flash: flashOf(c, { revoked: "Invitation revoked. Its link no longer works." }),
    });
    return await sendPage(c, page);
  });

  mountConfirmation(app, parts, {
    path: `${path}/invitations/:invitationId/revoke`,
    async show(c, asked) {
      const organization = await resolveOrganization(services, idOf(c));
      const invitation = await getInvitation(services, { idText: idOf(c), id: invitationIdOf(c) });
      return revokeInvitationPage({ ...asked, organization, invitation });
    },
    async act(c, actor) {
      await revokeInvitation(services, actor, { idText: idOf(c), id: invitationIdOf(c) });
      return `${organizationActionHref(idOf(c), "members")}?done=revoked`;
    },
  });
}

function invitationIdOf(c: AppContext): string {
  return c.req.param("invitationId") ?? "";
}
