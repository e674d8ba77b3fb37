// Sample pages of organizations, members and invitations. sample.ts has the others.
import { accessPage, type AccessState } from "../../views/meter/access.tsx";
import {
  acceptInvitationPage,
  endedInvitationPage,
  type Invitee,
} from "../../views/organization/accept_invitation.tsx";
import {
  deleteOrganizationPage,
  transferOrganizationPage,
} from "../../views/organization/organization_danger_zone.tsx";
import type { GateFrame, Page, PortalFrame } from "../../views/layout.tsx";
import { leaveOrganizationPage, memberRolePage, removeMemberPage } from "../../views/organization/member.tsx";
import { membersPage, type MembersPageProps } from "../../views/organization/members.tsx";
import { organizationPage } from "../../views/organization/organization.tsx";
import { organizationsPage } from "../../views/organization/organizations.tsx";
import { revokeInvitationPage } from "../../views/organization/invitation_table.tsx";

/** @returns The members page with members and open invitations. */
export function membersProps(text: string, frame: PortalFrame): MembersPageProps {
  const member = {
    role: "OWNER",
    joinedAt: "2026-08-23T14:05:11.000Z",
    twoStep: true,
    activeApiKeys: 2,
  } as const;
  const invitation = {
    email: text,
    role: "ADMIN",
    invitedByOperator: false,
    invitedBy: { id: "usr_2", name: text },
    createdAt: "2026-11-20T14:05:11.000Z",
    sentAt: "2026-11-20T14:05:11.000Z",
    expiresAt: "2026-11-27T14:05:11.000Z",
    acceptedAt: null,
  } as const;
  return {
    frame,
    members: [
      { ...member, user: { id: "usr_1", name: text, email: text }, actions: ["role", "leave"] },
      {
        ...member,
        user: { id: `usr_2/${text}`, name: text, email: text },
        role: "MEMBER",
        twoStep: false,
        actions: ["role", "remove"],
      },
    ],
    counts: { OWNER: 1, ADMIN: 0, MEMBER: 1 },
    nextHref: `/portal/members?cursor=${encodeURIComponent(text)}`,
    inviting: {
      roles: ["MEMBER", "ADMIN", "OWNER"],
      values: { email: text, name: text, role: "ADMIN" },
      fields: { email: text, name: text, role: text },
      message: text,
      needsAuthentication: false,
      invitations: [
        { ...invitation, id: `inv_1/${text}`, status: "pending", canChange: true },
        { ...invitation, id: "inv_2", status: "expired", invitedBy: null, canChange: false },
      ],
      cursor: encodeURIComponent(text),
      nextHref: `/portal/members?open=${encodeURIComponent(text)}`,
      flash: text,
    },
    flash: text,
    error: text,
  };
}

/** @returns Every page about organizations and their members, by name. */
export function peoplePages(
  text: string,
  { frame, gateFrame }: { frame: PortalFrame; gateFrame: GateFrame },
): Readonly<Record<string, Page>> {
  const props = membersProps(text, frame);
  const { session } = frame;
  const unverified = { ...frame, session: { ...session, user: { ...session.user, emailVerified: false } } };
  const alone = { ...frame, session: { ...session, organization: null, memberships: [] } };
  const [member] = props.members;
  const [invitation] = props.inviting?.invitations ?? [];
  if (member === undefined || invitation === undefined) throw new Error("the sample has no members");
  const organization = {
    id: `org_1/${text}`,
    name: text,
    role: "OWNER",
    memberCount: 2,
    createdAt: "2026-08-23T14:05:11.000Z",
  } as const;
  const name = { value: text, fields: { name: text }, message: text };
  const offer = {
    organization: { id: "org_1", name: text },
    email: text,
    role: "ADMIN",
    invitedBy: text,
    hasAccount: false,
  } as const;
  const accept = (invitee: Invitee) =>
    acceptInvitationPage({ frame: gateFrame, token: text, offer, invitee, error: text });
  const access = (state: AccessState) =>
    accessPage({
      frame: gateFrame,
      user: session.user,
      state,
      application: { host: text, href: `https://app.example.com/${text}` },
      address: `/portal/access?return_to=${text}`,
      notice: { tone: "done", text },
    });
  const membership = {
    organizationId: `org_1/${text}`,
    name: text,
    role: "MEMBER",
    suspended: false,
  } as const;
  const denied = { kind: "role", role: "ADMIN", membership, owners: [], others: [] } as const;
  return {
    "access: granted": access({ kind: "granted" }),
    "access: email": access({ kind: "email", sendsMail: true }),
    "access: organization": access({ kind: "organization" }),
    "access: role": access({
      ...denied,
      owners: [{ name: text, email: text }],
      others: [{ ...membership, role: "ADMIN" }],
    }),
    "access: no organization": access({ ...denied, membership: null }),
    "members": membersPage(props),
    "members, as a member": membersPage({ ...props, inviting: null, nextHref: null, error: null }),
    "members, as an operator": membersPage({
      ...props,
      frame: {
        ...frame,
        isConsole: true,
        base: "/operator/organizations/org_1",
        viewed: { id: "org_1", name: text },
      },
    }),
    "members, without mail": membersPage({ ...props, frame: { ...frame, sendsMail: false } }),
    "members, alone and unverified": membersPage({
      ...props,
      frame: unverified,
      counts: { OWNER: 1, ADMIN: 0, MEMBER: 0 },
      inviting: props.inviting && { ...props.inviting, invitations: [], nextHref: null, cursor: undefined },
    }),
    "member's role": memberRolePage({
      frame,
      member,
      owners: 1,
      value: text,
      fields: { role: text },
      message: text,
    }),
    "member's removal": removeMemberPage({
      frame,
      member,
      value: "keep",
      fields: { keys: text },
      message: text,
    }),
    "member's removal, no keys": removeMemberPage({
      frame,
      member: { ...member, activeApiKeys: 0 },
      value: "revoke",
      fields: {},
      message: null,
    }),
    "leaving": leaveOrganizationPage({ frame, member, message: null }),
    "leaving, not possible": leaveOrganizationPage({ frame, member, message: text }),
    "revoking an invitation": revokeInvitationPage({ frame, invitation, message: text }),
    "organization": organizationPage({ frame, organization, isOnlyOwner: true, form: name, flash: text }),
    "organization, as a member": organizationPage({
      frame,
      organization: { ...organization, role: "MEMBER" },
      isOnlyOwner: false,
      form: name,
      flash: null,
    }),
    "deleting an organization": deleteOrganizationPage({
      frame,
      organization,
      activeApiKeys: 2,
      ...name,
    }),
    "transfer": transferOrganizationPage({
      frame,
      members: [member],
      nextHref: `/portal/organization/transfer?cursor=${encodeURIComponent(text)}`,
      value: text,
      fields: { userId: text },
      message: text,
    }),
    "transfer, alone": transferOrganizationPage({
      frame,
      members: [],
      nextHref: null,
      value: "",
      fields: {},
      message: null,
    }),
    "organizations": organizationsPage({ frame, organizations: [organization], form: name, flash: text }),
    "organizations, none": organizationsPage({ frame: alone, organizations: [], form: name, flash: null }),
    "invitation": accept({ kind: "invited" }),
    "invitation, unverified": accept({ kind: "unverified", sendsMail: true }),
    "invitation, unverified without mail": accept({ kind: "unverified", sendsMail: false }),
    "invitation, someone else": accept({ kind: "other", email: text }),
    "invitation, to sign in": accept({ kind: "signIn", href: `/sign-in?x=${encodeURIComponent(text)}` }),
    "invitation, to sign up": accept({
      kind: "signUp",
      name: text,
      fields: { name: text, email: text, password: text },
    }),
    "invitation, closed": accept({ kind: "closed" }),
    "invitation, no longer valid": endedInvitationPage({
      frame: gateFrame,
      home: { href: "/sign-in", label: "Go to sign-in" },
    }),
  };
}
