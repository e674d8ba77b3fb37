// Operators' notes about organizations: their shapes, their API and their forms. The organization's page lists them.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { organizationNoteCharactersMax } from "../../domain/limits.ts";
import { addNote, deleteNote, listNotes } from "../../services/console/mod.ts";
import { resolveOrganization } from "../../services/access/mod.ts";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { TextArea } from "../../views/components/field.tsx";
import { FormPage } from "../../views/components/form_page.tsx";
import { backTo, organizationHref, organizationsHref } from "../../views/components/links.ts";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { App, AppEnv, AppParts } from "../env.ts";
import { mountFormPage, paramOf } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import { check } from "../schemas/check.ts";
import { exampleId, idOut, idParam, stringSchema, timeOut } from "../schemas/common.ts";
import { characters } from "../schemas/messages.ts";
import { organizationParamsSchema } from "../schemas/organization_reference.ts";

const fault = characters(organizationNoteCharactersMax, 1);
const createSchema = z.strictObject({
  text: z.string().trim().min(1, fault).max(organizationNoteCharactersMax, fault).openapi({
    description: `1 to ${organizationNoteCharactersMax} characters, also tabs and line ends.`,
    example: "Agreed on quarterly invoices.",
  }),
}).openapi("CreateOrganizationNote");
const schema = z.object({
  id: idOut("not", "The note's id."),
  text: stringSchema("The note.", "Agreed on quarterly invoices."),
  author: z.object({
    id: stringSchema("The id of the user or the operator token.", exampleId("usr")).nullable(),
    name: stringSchema("Their name.", "Ada Lovelace").nullable(),
  }).openapi({ description: "Who added the note." }),
  createdAt: timeOut("When the note was added."),
}).openapi("OrganizationNote");

export function organizationNoteRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "organizations:read", write: "organizations:write" });
  const routes = nounRoutes(route, {
    path: "/api/operator/organizations/{id}/notes",
    one: "note",
    many: "notes",
    schema,
    parent: organizationParamsSchema,
    id: "{noteId}",
    params: organizationParamsSchema.extend({ noteId: idParam("not", "The note's id.") }),
  });
  routes.list({
    operationId: "listOrganizationNotes",
    summary: "List notes about an organization",
    description: "Newest first. Customers never see notes.",
  }, async ({ params, query }) => {
    const { id: organizationId } = await resolveOrganization(services, params.id);
    return await listNotes(services, { organizationId, ...query });
  });
  routes.create({
    operationId: "addOrganizationNote",
    summary: "Add a note about an organization",
    body: createSchema,
    errors: ["limit_reached"],
  }, ({ params: { id }, body }, actor) => addNote(services, actor, { idText: id, ...body }));
  routes.delete(
    { operationId: "deleteOrganizationNote", summary: "Delete a note about an organization" },
    ({ params: { id, noteId } }, actor) => deleteNote(services, actor, { idText: id, noteId }),
  );
}

const path = `${organizationsHref}/:id/notes`;

export function organizationNotePages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const pages = consolePages(app, parts, "operator/organizations");

  mountFormPage(pages, {
    path: `${path}/new`,
    async show(c, form) {
      const organization = await resolveOrganization(services, paramOf(c, "id"));
      return (
        <FormPage
          {...form}
          title="Add note"
          heading="Add a note about “{name}”"
          name={organization.name}
          text="Only operators see notes."
          submit="Add note"
          back={backTo(organization)}
        >
          <TextArea
            label="Note"
            {...form.field("text")}
            rows={4}
            required
            maxlength={organizationNoteCharactersMax}
            autofocus
          />
        </FormPage>
      );
    },
    async submit(c, actor, { text = "" }) {
      await addNote(services, actor, { idText: paramOf(c, "id"), ...check(createSchema, { text }, "body") });
      return `${organizationHref(paramOf(c, "id"))}?done=noted`;
    },
  });

  mountFormPage(pages, {
    path: `${path}/:noteId/delete`,
    async show(c, form) {
      const organization = await resolveOrganization(services, paramOf(c, "id"));
      return (
        <ConfirmPage
          {...form}
          title="Delete note"
          heading="Delete the note about “{name}”?"
          name={organization.name}
          text="This can't be undone."
          facts={[{ label: "Organization", value: organization.name }]}
          back={backTo(organization)}
        />
      );
    },
    async submit(c, actor) {
      await deleteNote(services, actor, { idText: paramOf(c, "id"), noteId: paramOf(c, "noteId") });
      return `${organizationHref(paramOf(c, "id"))}?done=note-deleted`;
    },
  });
}
