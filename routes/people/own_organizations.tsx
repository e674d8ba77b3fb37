// A person's own organizations: their shapes, their API, and the page that lists them, creates one, and switches to another.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { hasPermission, type Permission } from "../../domain/access/permissions.ts";
import { sessionUser } from "../../domain/access/session.ts";
import { nameCharactersMax } from "../../domain/limits.ts";
import { groupDigits } from "../../domain/number_text.ts";
import type { Organization } from "../../domain/organization.ts";
import { accessTo } from "../../services/access/mod.ts";
import {
  createOrganization,
  deleteOrganization,
  getOrganization,
  listOrganizations,
  renameOrganization,
  switchOrganization,
  transferOrganization,
} from "../../services/people/mod.ts";
import { Badge } from "../../views/components/badge.tsx";
import { SubmitButton } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { EmptyState } from "../../views/components/empty_state.tsx";
import { NameField } from "../../views/components/field.tsx";
import { Form, RowForm } from "../../views/components/form.tsx";
import type { PageForm } from "../../views/components/form_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { DayTime } from "../../views/components/relative_time.tsx";
import { actionsColumn, Name } from "../../views/components/table.tsx";
import { type PortalFrame, PortalPage } from "../../views/layout.tsx";
import { roleWords } from "../../views/text/role.ts";
import { sessionRoutes, withAccess } from "../api/endpoint.ts";
import { nounRoutes } from "../api/noun_routes.ts";
import { readFormBody } from "../body.ts";
import type { App, AppEnv, AppParts } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, ownPages } from "../portal/noun_pages.ts";
import { home, organizationsHome, type PortalParts, redirect, signedInRoutes } from "../portal/page.ts";
import { check } from "../schemas/check.ts";
import { exampleId, idOut, nameSchema, roleSchema, stringSchema, timeOut } from "../schemas/common.ts";
import { tooLong } from "../schemas/messages.ts";
import { organizationParamsSchema as params } from "./schemas/people.ts";
import { sessionUserSchema } from "./schemas/sign_in.ts";

const schema = z.object({
  id: idOut("org", "The organization's id."),
  name: stringSchema("The organization's name.", "Analytical Engines"),
  role: roleSchema.describe("Your role in the organization."),
  memberCount: z.number().int().describe("The number of members."),
  createdAt: timeOut("When the organization was created."),
}).openapi("Organization");
export const organizationNameSchema = z.strictObject({
  name: nameSchema("The organization's name", { example: "Analytical Engines" }),
}).openapi("OrganizationName");
const deleteSchema = z.strictObject({
  name: z.string().max(nameCharactersMax * 2, tooLong).openapi({
    description:
      "The organization's name, as confirmation. Typographic quotation marks, dashes and spaces may be typed as plain ones.",
    example: "Analytical Engines",
  }),
}).openapi("DeleteOrganization");
const idIn = (prefix: "usr" | "org", description: string) =>
  z.string().max(100, tooLong).openapi({ description, example: exampleId(prefix) });
const transferSchema = z.strictObject({
  userId: idIn("usr", "The id of the member who becomes the owner."),
}).openapi("TransferOrganization");
const activeSchema = z.strictObject({
  organizationId: idIn("org", "The id of one of your organizations."),
}).openapi("ActiveOrganization");

export function organizationRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const path = "/api/portal/organizations";
  const session = sessionRoutes(app, parts, { tag: "Organizations" });
  const noun = { path, one: "organization", many: "organizations", schema, id: "{id}", params } as const;
  const all = nounRoutes(session, noun);
  const route = withAccess(session, accessTo);
  const one = nounRoutes(route, noun);

  all.listAll({
    operationId: "listOrganizations",
    summary: "List your organizations",
    response: "Your organizations, sorted by name.",
  }, (_input, actor) => listOrganizations(services, actor));
  all.create({
    operationId: "createOrganization",
    summary: "Create an organization that you own",
    description: "It does not become the active one.",
    body: organizationNameSchema,
    errors: ["limit_reached", "rate_limited"],
  }, ({ body: { name } }, actor) => createOrganization(services, actor, name));
  one.get(
    { operationId: "getOrganization", summary: "Get one of your organizations" },
    (_input, access) => getOrganization(services, access),
  );
  one.change({
    operationId: "renameOrganization",
    summary: "Rename an organization",
    description: "Requires the owner role.",
    body: organizationNameSchema,
    errors: ["forbidden"],
  }, ({ body: { name } }, access) => renameOrganization(services, access, name));
  route({
    route: `DELETE ${path}/{id}`,
    operationId: "deleteOrganization",
    summary: "Delete an organization",
    description:
      "Requires the owner role and authentication within the last 10 minutes. Keys, memberships and invitations end " +
      "immediately; usage data is deleted in the background.",
    params,
    body: deleteSchema,
    responses: { 204: { description: "Deleted." } },
    errors: ["forbidden", "proof_required"],
  }, (_c, { body: { name } }, access) => deleteOrganization(services, access, name));
  route({
    route: `POST ${path}/{id}/transfer`,
    operationId: "transferOrganization",
    summary: "Transfer ownership to another member",
    description:
      "Requires the owner role and authentication within the last 10 minutes. You become an admin.",
    params,
    body: transferSchema,
    responses: { 200: { description: "The organization.", schema: z.object({ organization: schema }) } },
    errors: ["forbidden", "proof_required"],
  }, async (_c, { body: { userId } }, access) => ({
    organization: await transferOrganization(services, access, userId),
  }));

  sessionRoutes(app, parts, { tag: "Sign-in" })(
    {
      route: "POST /api/auth/organization",
      operationId: "switchOrganization",
      summary: "Switch the active organization",
      description: "Applies to this session and to future sign-ins.",
      body: activeSchema,
      responses: { 200: { description: "The session user.", schema: sessionUserSchema } },
      errors: ["not_found"],
    },
    async (_c, { body }, actor) =>
      sessionUser(await switchOrganization(services, actor, body.organizationId)),
  );
}

const flashes = {
  left: "You left the organization.",
  deleted: "Organization deleted. Its keys no longer work.",
};
/** The pages that switching can return to, with the permission that each requires. */
const switchTargets: ReadonlyMap<string, Permission | null> = new Map([
  [home, null],
  ["/portal/api-keys", null],
  ["/portal/usage", "usage.read"],
  ["/portal/members", "members.read"],
  ["/portal/audit", "audit.read"],
  ["/portal/organization", null],
]);

export function organizationListPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const routes = signedInRoutes(app, parts);
  const back = { href: organizationsHome, label: "Organizations" };
  // People without an organization land here, so the form requires no recent authentication.
  const pages = { ...ownPages(app, parts, { place: "organizations", back }), forms: routes };

  mountFormPage(pages, {
    path: organizationsHome,
    async show(c, form, session) {
      const { frame, place } = form;
      const organizations = await listOrganizations(services, session);
      return (
        <PortalPage title="Organizations" frame={frame} place={place}>
          <PageHead
            title="Organizations"
            text="Keys, usage and members belong to an organization. The portal shows the active one."
          />
          <Notice tone="done" text={flashOf(c, flashes)} />
          <Card title="Your organizations" flush>
            {organizations.length === 0
              ? (
                <EmptyState
                  title="No organizations yet"
                  text={`Create one below, or ask for an invitation to ${session.user.email}.`}
                />
              )
              : <OrganizationTable organizations={organizations} frame={frame} />}
          </Card>
          <NewOrganizationCard {...form} />
        </PortalPage>
      );
    },
    async submit(c, session, input) {
      const { name } = check(organizationNameSchema, { name: input["name"] ?? "" }, "body");
      const { id: organizationId, role } = await createOrganization(services, session, name);
      const membership = { organizationId, name, role, suspended: false, timezone: "UTC", features: [] };
      const memberships = [...session.memberships, membership];
      await switchOrganization(services, { ...session, memberships }, organizationId);
      return redirect(c, "/portal/members?done=created", { frameChanges: true });
    },
  });

  routes.post("/portal/switch", async (c, session) => {
    const { organizationId = "", return_to: target = "" } = await readFormBody(c);
    const { organization } = await switchOrganization(services, session, organizationId);
    const permission = switchTargets.get(target);
    const canGo = permission === null ||
      (permission !== undefined && organization !== null && hasPermission(organization.role, permission));
    return redirect(c, canGo ? target : home, { frameChanges: true });
  });
  // For people who reload the address of the form.
  app.get("/portal/switch", (c) => redirect(c, home));
}

function OrganizationTable(
  { organizations, frame }: { organizations: readonly Organization[]; frame: PortalFrame },
) {
  const active = frame.session.organization?.organizationId;
  return (
    <ItemTable
      label="Organizations"
      items={organizations}
      columns={[
        { title: "Name", in: "title", cell: ({ name }) => <Name text={name} /> },
        { title: "Your role", cell: ({ role }) => <span>{roleWords[role]}</span> },
        {
          title: "Members",
          cell: ({ memberCount }) => <span class="tabular">{groupDigits(memberCount)}</span>,
        },
        { title: "Created", cell: ({ createdAt }) => <DayTime at={createdAt} now={frame.now} /> },
        {
          title: "Status",
          in: "state",
          cell: ({ id }) => id === active ? <Badge tone="on">Active</Badge> : null,
        },
        {
          ...actionsColumn,
          in: "actions",
          cell: ({ id, name }) =>
            id === active
              ? null
              : (
                <Form class="actions-row" action="/portal/switch" hidden={{ organizationId: id }}>
                  <SubmitButton tone="quiet">
                    Switch<span class="unseen">{` to “${name}”`}</span>
                  </SubmitButton>
                </Form>
              ),
        },
      ]}
    />
  );
}

function NewOrganizationCard({ action, error, field }: PageForm) {
  return (
    <Card title={<span id="new">New organization</span>}>
      <RowForm
        action={action}
        error={error}
        note="You become its owner, and it becomes your active organization."
        hasOneField
      >
        <NameField
          label="Name"
          {...field("name")}
          placeholder="For example: Northwind Maps"
          autocomplete="organization"
        />
        <SubmitButton>Create organization</SubmitButton>
      </RowForm>
    </Card>
  );
}
