// APIs and MCP servers for which applications get tokens: their shapes, and their API.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { resourceClientsMax, resourceScopesMax, resourcesMax } from "../../domain/oauth/resource.ts";
import {
  changeResource,
  createResource,
  deleteResource,
  getResource,
  listResources,
  rotateResourceSecret,
} from "../../services/oauth/mod.ts";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { AppEnv, AppParts } from "../env.ts";
import {
  exampleId,
  idOut,
  idParam,
  nameSchema,
  pageQuerySchema,
  stringSchema,
  timeOut,
} from "../schemas/common.ts";
import { atMost } from "../schemas/messages.ts";

const settings = z.strictObject({
  uri: z.string().max(1_000, "must be at most 1000 characters.").openapi({
    description: "What applications name as `resource`: an absolute URI without a fragment.",
    example: "https://mcp.example.com/",
  }),
  name: nameSchema("The resource's name, which people see", { example: "Tools" }),
  scopes: z.array(z.string().max(100)).max(resourceScopesMax, atMost(resourceScopesMax, "scopes")).openapi({
    description: "Its own scopes, besides those of sign-in.",
    example: ["tools:call"],
  }),
  tokenFormat: z.enum(["opaque", "jwt"]).openapi({
    description:
      "`opaque` tokens are looked up, so that they end with the session. A `jwt` is checked by the resource alone and works for five " +
      "minutes, even after the session ends.",
    example: "opaque",
  }),
  clients: z.union([
    z.literal("all"),
    z.array(z.string().max(100)).max(resourceClientsMax, atMost(resourceClientsMax, "ids")),
  ], { error: 'must be "all" or a list of ids of applications.' })
    .openapi({ description: "The applications that may ask for its tokens.", example: [exampleId("cli")] }),
});

export const createResourceSchema = settings.partial().required({ uri: true, name: true }).openapi(
  "CreateResource",
);
export const changeResourceSchema = settings.partial().openapi("ChangeResource");
const schema = settings.extend({
  id: idOut("res", "The resource's id, with which it introspects tokens."),
  createdAt: timeOut("When the resource was added."),
}).openapi("Resource");
const withSecret = z.object({
  resource: schema,
  secret: stringSchema(
    "The resource's secret. It appears only in this response.",
    "service_client_7Kq2mXfB0example0example0example0",
  ),
});

export function resourceRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "account" });
  const path = "/api/operator/resources";
  const params = z.object({ id: idParam("res", "The resource's id.") });
  const routes = nounRoutes(route, { path, one: "resource", many: "resources", schema, id: "{id}", params });
  routes.list({
    operationId: "listResources",
    summary: "List resources",
    description:
      `APIs and MCP servers for which applications get tokens, newest first, at most ${resourcesMax}.`,
    query: pageQuerySchema,
  }, ({ query }) => listResources(services, query));
  route(
    {
      route: `POST ${path}`,
      operationId: "createResource",
      summary: "Add a resource",
      description: "The resource asks `/oauth/introspect` with its id and secret whether a token works.",
      body: createResourceSchema,
      responses: { 201: { description: "The resource and its secret.", schema: withSecret } },
      errors: ["resource_taken", "limit_reached"],
    },
    (_c, { body: { scopes = [], tokenFormat = "opaque", clients = "all", ...body } }, actor) =>
      createResource(services, actor, { scopes, tokenFormat, clients, ...body }),
  );
  routes.get(
    { operationId: "getResource", summary: "Get a resource" },
    ({ params: { id } }) => getResource(services, id),
  );
  routes.change({
    operationId: "changeResource",
    summary: "Change a resource",
    description:
      "Omitted fields keep their values. Access of applications that you exclude ends, and so does access with a scope that you remove.",
    body: changeResourceSchema,
    errors: ["resource_taken"],
  }, ({ params: { id }, body }, actor) => changeResource(services, actor, { id, changes: body }));
  route({
    route: `POST ${path}/{id}/rotate-secret`,
    operationId: "rotateResourceSecret",
    summary: "Rotate a resource's secret",
    description: "The old secret is rejected immediately.",
    params,
    responses: { 200: { description: "The resource and its new secret.", schema: withSecret } },
  }, (_c, { params: { id } }, actor) => rotateResourceSecret(services, actor, id));
  routes.delete({
    operationId: "deleteResource",
    summary: "Delete a resource",
    description:
      "All tokens for it end immediately. Applications that have it as their default resource have none.",
  }, ({ params: { id } }, actor) => deleteResource(services, actor, id));
}
