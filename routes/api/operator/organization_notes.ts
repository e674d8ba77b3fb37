// The operators' API of notes about an organization.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { addNote, deleteNote, listNotes } from "../../../services/operator/organization_notes.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { pageQuerySchema } from "../../schemas/common.ts";
import * as schemas from "../../schemas/operator_organizations.ts";
import { operatorRoutes } from "./operator_routes.ts";

const path = "/api/operator/organizations/{id}/notes";

/** Mounts `/api/operator/organizations/{id}/notes`. */
export function operatorNoteRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts);

  route({
    route: `GET ${path}`,
    access: "organizations:read",
    operationId: "listOrganizationNotes",
    summary: "List notes about an organization",
    description: "Newest first. Customers never see notes.",
    params: schemas.organizationParamsSchema,
    query: pageQuerySchema,
    responses: { 200: { description: "A page of notes.", schema: schemas.notesSchema } },
  }, (_c, { params: { id }, query }) => listNotes(services, { idText: id, ...query }));

  route({
    route: `POST ${path}`,
    access: "organizations:write",
    operationId: "addOrganizationNote",
    summary: "Add a note about an organization",
    params: schemas.organizationParamsSchema,
    body: schemas.createNoteSchema,
    responses: { 201: { description: "The note.", schema: schemas.noteResponseSchema } },
    errors: ["limit_reached"],
  }, async (_c, { params: { id }, body }, actor) => ({
    note: await addNote(services, actor, { idText: id, ...body }),
  }));

  route({
    route: `DELETE ${path}/{noteId}`,
    access: "organizations:write",
    operationId: "deleteOrganizationNote",
    summary: "Delete a note about an organization",
    params: schemas.noteParamsSchema,
    responses: { 204: { description: "Deleted." } },
  }, (_c, { params: { id, noteId } }, actor) => deleteNote(services, actor, { idText: id, noteId }));
}
