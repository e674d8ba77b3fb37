// Members of an organization: their shapes, their API, their list, and the pages that change a role or remove a member. The pages
// only show what the verbs allow; the verbs decide. The page with the list is in invitations.tsx.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { Permission } from "../../domain/access/permissions.ts";
import { type Role, roles } from "../../domain/access/session.ts";
import { validationError } from "../../domain/errors.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import type { Member } from "../../domain/organization.ts";
import {
  type Access,
  accessTo,
  may,
  type MemberAccess,
  operatorAccess,
  requirePermission,
} from "../../services/access/mod.ts";
import {
  changeMemberRole,
  countMembers,
  getMember,
  listMembers,
  removeMember,
} from "../../services/people/mod.ts";
import { Badge } from "../../views/components/badge.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { RadioGroup } from "../../views/components/field.tsx";
import { HiddenFields } from "../../views/components/form.tsx";
import type { PageForm } from "../../views/components/form_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { userHref } from "../../views/components/links.ts";
import { DayTime } from "../../views/components/relative_time.tsx";
import { type MenuAction, RowMenu } from "../../views/components/row_menu.tsx";
import { actionsColumn, LinkedName, Words } from "../../views/components/table.tsx";
import type { PortalFrame } from "../../views/layout.tsx";
import { roleSentences, roleWords } from "../../views/text/role.ts";
import { sessionRoutes, withAccess } from "../api/endpoint.ts";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { App, AppEnv, AppParts } from "../env.ts";
import { mountFormPage, type Pages, paramOf } from "../portal/noun_pages.ts";
import { home, type PortalParts, redirect } from "../portal/page.ts";
import { memberPages as memberRoutesOf, type MemberViewer, nounPagesOf } from "../portal/viewer.ts";
import { check } from "../schemas/check.ts";
import { addressSchema, idOut, idParam, personNameSchema, roleSchema, timeOut } from "../schemas/common.ts";
import { organizationParamsSchema as operatorParams } from "../schemas/organization_reference.ts";
import { organizationParamsSchema } from "./schemas/people.ts";

const schema = z.object({
  user: z.object({ id: idOut("usr", "The user's id."), name: personNameSchema, email: addressSchema })
    .describe("The user."),
  role: roleSchema,
  joinedAt: timeOut("When the user joined the organization."),
  twoStep: z.boolean().nullable().describe(
    "Whether two-step sign-in is on. Null if your role is MEMBER and this is another user.",
  ),
  activeApiKeys: z.number().int().describe(
    "The number of active API keys that the user created in this organization.",
  ),
}).openapi("Member");
const params = organizationParamsSchema.extend({ userId: idParam("usr", "The member's id.") });
const changeSchema = z.strictObject({ role: roleSchema }).openapi("ChangeRole");
const removeQuerySchema = z.strictObject({
  keys: z.enum(["revoke", "keep"], { error: "must be revoke or keep." }).default("revoke").describe(
    "What happens to the API keys that the member created: they are revoked, or transferred to you.",
  ),
});
const noun = { one: "member", many: "members", schema, id: "{userId}", params } as const;

export function memberRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const path = "/api/portal/organizations/{id}/members";
  const route = withAccess(sessionRoutes(app, parts, { tag: "Organizations" }), accessTo);
  const routes = nounRoutes(route, { ...noun, path, parent: organizationParamsSchema });

  routes.list({
    operationId: "listMembers",
    summary: "List members",
    response: "A page of members, oldest accounts first.",
  }, ({ query }, access) => listMembers(services, access, query));
  routes.change({
    operationId: "changeMemberRole",
    summary: "Change a member's role",
    description:
      "Requires the owner role. Making someone an owner also requires authentication within the last 10 minutes. " +
      "An organization keeps at least one owner.",
    body: changeSchema,
    errors: ["forbidden", "proof_required", "last_owner"],
  }, ({ params: { userId }, body }, access) => changeMemberRole(services, access, { userId, ...body }));
  route({
    route: `DELETE ${path}/{userId}`,
    operationId: "removeMember",
    summary: "Remove a member, or leave",
    description:
      "Owners can remove anyone, admins can remove admins and members, and everyone can leave. The removed member loses " +
      "access immediately. The keys that they created here are revoked unless `keys=keep`.",
    params,
    query: removeQuerySchema,
    responses: { 204: { description: "Removed." } },
    errors: ["forbidden", "last_owner"],
  }, (_c, { params: { userId }, query: { keys } }, access) => {
    return removeMember(services, access, { userId, keepKeys: keys === "keep" });
  });
}

export function operatorMemberRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const operators = operatorRoutes(app, parts, { read: "organizations:read" });
  const route = withAccess(operators, (actor, id) => operatorAccess(services, actor, id));
  const path = "/api/operator/organizations/{id}/members";
  nounRoutes(route, { ...noun, path, parent: operatorParams }).list(
    { operationId: "operatorListMembers", summary: "List an organization's members" },
    ({ query }, access) => listMembers(services, access, query),
  );
}

const path = "/members";
export const membersHref = home + path;

/** Links back from the pages about one member or invitation. */
export const membersBack = ({ base }: PortalFrame) => ({ href: `${base}${path}`, label: "Members" });

/** @param props `owners`: the number of owners. */
export function MemberTable(
  { members, access, owners, frame }: {
    members: readonly Member[];
    access: Access;
    owners: number;
    frame: PortalFrame;
  },
) {
  return (
    <ItemTable
      label="Members"
      kind="cards"
      items={members}
      rowId={({ user }) => user.id}
      columns={[
        {
          title: "Name",
          in: "title",
          cell: ({ user }) => (
            <>
              <MemberName user={user} frame={frame} />
              <div class="muted tiny">{user.email}</div>
            </>
          ),
        },
        { title: "Role", in: "start", cell: ({ role }) => roleWords[role] },
        { title: "Two-step sign-in", in: "end", cell: ({ twoStep }) => <TwoStep isOn={twoStep} /> },
        {
          title: "Active keys",
          in: "start",
          isNumber: true,
          cell: ({ activeApiKeys }) => (
            <>
              <span class="off-only">{groupDigits(activeApiKeys)}</span>
              <Words onCard={countOf(activeApiKeys, "active key")} />
            </>
          ),
        },
        {
          title: "Joined",
          in: "end",
          drop: 2,
          isQuiet: true,
          cell: ({ joinedAt }) => (
            <>
              <Words onCard="Joined " />
              <DayTime at={joinedAt} now={frame.now} />
            </>
          ),
        },
        {
          ...actionsColumn,
          in: "actions",
          cell: (member) => <RowMenu about={member.user.name} actions={actionsOf(member, access, owners)} />,
        },
      ]}
    />
  );
}

/** Returns the viewer's actions for a member, in the order of the buttons. Operators have none. */
function actionsOf({ user, role }: Member, access: Access, owners: number): MenuAction[] {
  if (access.role === null) return [];
  const isLastOwner = role === "OWNER" && owners === 1;
  const hrefOf = (action: string) => `${membersHref}/${encodeURIComponent(user.id)}/${action}`;
  const actions: MenuAction[] = [];
  if (may(access, "owners.manage") && !isLastOwner) {
    actions.push({ label: "Change role", icon: "edit", href: hrefOf("role") });
  }
  if (isOwn(access, user)) {
    if (!isLastOwner) {
      actions.push({ label: "Leave", icon: "out", isDanger: true, href: `${membersHref}/leave` });
    }
  } else if (may(access, removalPermission(role))) {
    actions.push({ label: "Remove", icon: "trash", isDanger: true, href: hrefOf("remove") });
  }
  return actions;
}

/** Operators get a link to the user's page in the console. */
function MemberName({ user: { id, name }, frame }: { user: Member["user"]; frame: PortalFrame }) {
  if (frame.viewed !== null) return <LinkedName href={userHref(id)} name={name} />;
  return (
    <div class="name">
      <bdi>{name}</bdi>
      {id === frame.session.user.id && <span class="muted you">you</span>}
    </div>
  );
}

function TwoStep({ isOn }: { isOn: boolean | null }) {
  if (isOn === null) return <span class="muted">Not shown</span>;
  return (
    <Badge tone={isOn ? "on" : "soon"}>
      <Words onCard="Two-step " />
      {isOn ? "On" : "Off"}
    </Badge>
  );
}

/** Mounts the pages about one member. */
export function memberPages(app: App, parts: PortalParts): void {
  const pages = nounPagesOf(memberRoutesOf(app, parts), { place: "members", backOf: membersBack });
  rolePage(pages, parts);
  removalPage(pages, parts);
}

function rolePage(pages: Pages<MemberViewer>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${path}/:userId/role`,
    async show(c, { field, ...form }, { access }) {
      const [member, { OWNER: owners }] = await Promise.all([
        getMember(services, access, paramOf(c, "userId")),
        countMembers(services, access),
      ]);
      requirePermission(access, "owners.manage");
      const isYou = isOwn(access, member.user);
      const more = member.role === "OWNER" ? "" : ` There will be ${owners + 1} owners, with equal rights.`;
      return (
        <ConfirmPage
          {...form}
          {...aboutMember(member, form.frame)}
          title="Change role"
          heading={isYou ? "Change your own role" : "Change the role of {name}"}
          text={isYou
            ? "Your new role takes effect immediately. Only another owner can change it back."
            : "Their new role takes effect immediately. Their keys don't change."}
          tone="primary"
        >
          <RadioGroup
            label="Role"
            {
              // The choice is in the address after the password had to be entered.
              ...field("role", c.req.query("role") ?? member.role)
            }
            choices={roles.map((role) => ({
              value: role,
              label: roleWords[role],
              hint: `${roleSentences[role]}${role === "OWNER" ? more : ""}`,
            }))}
          />
        </ConfirmPage>
      );
    },
    async submit(c, { access }, input) {
      const { user, role: formerRole } = await getMember(services, access, paramOf(c, "userId"));
      const { role } = check(changeSchema, { role: input["role"] ?? "" }, "body");
      await changeMemberRole(services, access, { userId: user.id, role });
      if (role === formerRole) return membersHref;
      return redirect(c, `${membersHref}?done=role&id=${user.id}`, { frameChanges: isOwn(access, user) });
    },
    reauthenticateFor: (c, { role }) => `${membersHref}/${paramOf(c, "userId")}/role?role=${role}`,
  });
}

function removalPage(pages: Pages<MemberViewer>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${path}/:userId/remove`,
    async show(c, form, { access }) {
      const member = await getMember(services, access, paramOf(c, "userId"));
      if (isOwn(access, member.user)) return redirect(c, `${membersHref}/leave`);
      requirePermission(access, removalPermission(member.role));
      return (
        <ConfirmPage
          {...form}
          {...aboutMember(member, form.frame)}
          title="Remove member"
          heading="Remove {name}?"
          text="They lose access immediately, and their open invitations are revoked. They keep their account."
        >
          {member.activeApiKeys > 0 ? <KeysChoice form={form} member={member} /> : (
            <>
              <HiddenFields values={{ keys: "revoke" }} />
              <p class="small muted">They have no active keys in this organization.</p>
            </>
          )}
        </ConfirmPage>
      );
    },
    async submit(c, { access }, { keys }) {
      const { user } = await getMember(services, access, paramOf(c, "userId"));
      if (isOwn(access, user)) return `${membersHref}/leave`;
      if (keys !== "revoke" && keys !== "keep") {
        throw validationError([{ path: "keys", message: "Choose what should happen to the keys." }]);
      }
      await removeMember(services, access, { userId: user.id, keepKeys: keys === "keep" });
      return `${membersHref}?done=removed&id=${user.id}`;
    },
  });
}

/** Returns the name and the details of a member for pages about them. */
export function aboutMember({ user, role, joinedAt }: Member, { now }: PortalFrame) {
  return {
    name: user.name,
    facts: [
      { label: "Email", value: user.email },
      { label: "Role", value: roleWords[role] },
      { label: "Joined", value: <DayTime at={joinedAt} now={now} /> },
    ],
  };
}

function KeysChoice({ form: { input, field }, member }: { form: PageForm; member: Member }) {
  return (
    <RadioGroup
      label={`What should happen to their ${countOf(member.activeApiKeys, "active key")}?`}
      {...field("keys", input === undefined ? "revoke" : "")}
      choices={[
        { value: "revoke", label: "Revoke", hint: "Requests with these keys will fail immediately." },
        {
          value: "keep",
          label: "Transfer to me",
          hint: "The keys keep working. Anyone who knows them can still use them.",
        },
      ]}
    />
  );
}

function isOwn({ actor }: MemberAccess, { id }: Member["user"]): boolean {
  return actor.user.id === id;
}

function removalPermission(role: Role): Permission {
  return role === "OWNER" ? "owners.manage" : "members.manage";
}
