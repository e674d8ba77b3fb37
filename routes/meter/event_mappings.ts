// The operators' API of mappings of events, and of their subjects.
import type { OpenAPIHono } from "@hono/zod-openapi";
import {
  assignEventSubject,
  changeMapping,
  createMapping,
  deleteEventSubject,
  deleteMapping,
  getMapping,
  listMappings,
  listSubjects,
  tryMapping,
} from "../../services/meter/mod.ts";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { check } from "../schemas/check.ts";
import * as schemas from "./schemas/event_mappings.ts";
import { targetOf } from "./schemas/record_target.ts";

const path = "/api/operator/event-mappings";
const subjectsPath = "/api/operator/subjects";

export function eventMappingRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "statements:read", write: "statements:write" });
  const routes = nounRoutes(route, {
    path,
    one: "mapping",
    many: "mappings",
    schema: schemas.mappingSchema,
    id: "{id}",
    params: schemas.mappingParamsSchema,
  });
  routes.list({
    operationId: "listEventMappings",
    summary: "List mappings of events",
    description: "How events of gateways become usage records.",
  }, ({ query }) => listMappings(services, query));
  routes.create({
    operationId: "createEventMapping",
    summary: "Add a mapping of events",
    description: "There can be one for each type and source, and one for each type without a source.",
    body: schemas.createMappingSchema,
    errors: ["mapping_taken", "limit_reached"],
  }, ({ body }, actor) => createMapping(services, actor, schemas.newMapping(body)));
  routes.get(
    { operationId: "getEventMapping", summary: "Get a mapping of events" },
    ({ params: { id } }) => getMapping(services, id),
  );
  routes.change({
    operationId: "changeEventMapping",
    summary: "Change a mapping of events",
    description:
      "Events that were recorded stay as they are. Sent again, they are repeats, or conflict if their quantity or a property differs now.",
    body: schemas.changeMappingSchema,
    errors: ["mapping_taken"],
  }, ({ params: { id }, body }, actor) => changeMapping(services, actor, id, schemas.givenOf(body)));
  routes.delete({
    operationId: "deleteEventMapping",
    summary: "Delete a mapping of events",
    description: "Recorded usage stays.",
  }, ({ params: { id } }, actor) => deleteMapping(services, actor, id));
  operatorRoutes(app, parts, { read: "statements:read", write: "statements:read" })(
    {
      route: `POST ${path}/{id}/try`,
      operationId: "tryEventMapping",
      summary: "Try a mapping with an event",
      description: "Returns what would be recorded, and records nothing.",
      params: schemas.mappingParamsSchema,
      body: schemas.tryMappingSchema,
      responses: {
        200: { description: "What would be recorded.", schema: schemas.triedMappingSchema },
      },
      errors: ["nothing_to_record"],
    },
    (_c, { params: { id }, body }) =>
      tryMapping(services, id, check(schemas.collectedEventSchema, body.event, "body")),
  );
  subjectRoutes(app, parts);
}

function subjectRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "usage:read", write: "usage:write" });
  const routes = nounRoutes(route, {
    path: subjectsPath,
    one: "subject",
    many: "subjects",
    schema: schemas.subjectSchema,
    id: "{id}",
    params: schemas.subjectParamsSchema,
  });
  routes.list({
    operationId: "listEventSubjects",
    summary: "List subjects of events",
    description: "Those that are assigned, and those that are unknown, the newest first.",
  }, ({ query }) => listSubjects(services, query));
  route(
    {
      route: `POST ${subjectsPath}/assign`,
      operationId: "assignEventSubject",
      summary: "Assign a subject of events",
      description:
        "Its later events are recorded for this organization or key. Those that were kept are recorded within seconds, by the mapping of " +
        "now. Events that were recorded for another organization count again if they are sent again.",
      body: schemas.assignSubjectSchema,
      responses: { 200: { description: "The subject.", schema: schemas.subjectSchema } },
    },
    (_c, { body }, actor) =>
      assignEventSubject(services, actor, { subject: body.subject, target: targetOf(body) }),
  );
  routes.delete({
    operationId: "deleteEventSubject",
    summary: "End the assignment of a subject",
    description: "What is kept of an unknown subject is discarded.",
  }, ({ params: { id } }, actor) => deleteEventSubject(services, actor, id));
}
