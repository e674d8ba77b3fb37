// Applications that sign people in here: their shapes, and their API.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { clientGrants } from "../../domain/oauth/client.ts";
import {
  clientOrganizationsMax,
  clientsMax,
  groupNamesMax,
  redirectUrisMax,
} from "../../domain/oauth/client_settings.ts";
import { signInScopes } from "../../domain/oauth/scope_names.ts";
import {
  changeClient,
  createClient,
  deleteClient,
  getClient,
  listClients,
  rotateClientSecret,
} from "../../services/oauth/mod.ts";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { AppEnv, AppParts } from "../env.ts";
import {
  exampleId,
  idOut,
  idParam,
  nameSchema,
  roleSchema,
  stringSchema,
  timeOut,
} from "../schemas/common.ts";
import { atMost } from "../schemas/messages.ts";

const uri = z.string().max(1_000, "must be at most 1000 characters.");
const uris = (description: string, example: string) =>
  z.array(uri).max(redirectUrisMax, atMost(redirectUrisMax, "addresses"))
    .openapi({ description, example: [example] });
const type = z.enum(["confidential", "public"]).openapi({
  description:
    "`confidential` for applications on a server, which have a secret; `public` for those on people's devices and in " +
    "browsers. It can't be changed.",
  example: "confidential",
});

const settings = z.strictObject({
  name: nameSchema("The application's name, which people see", { example: "Grafana" }),
  grants: z.array(z.enum(clientGrants)).max(clientGrants.length, atMost(clientGrants.length, "grants"))
    .openapi({
      description: "How it may get tokens. By default with codes and refresh tokens.",
      example: ["authorization_code", "refresh_token"],
    }),
  redirectUris: uris(
    "Where people return to: https, this machine on any port, or for public clients a scheme with a dot. Compared exactly.",
    "https://grafana.example.com/login/generic_oauth",
  ),
  postLogoutRedirectUris: uris(
    "Where people may return to after they sign out.",
    "https://grafana.example.com/",
  ),
  backchannelLogoutUri: uri.nullable().openapi({
    description: "The address that gets a logout token when a session ends. By default none.",
    example: "https://grafana.example.com/logout/backchannel",
  }),
  access: z.union([
    z.literal("everyone"),
    z.strictObject({
      organizationIds: z.array(z.string().max(100)).min(1, "must have at least one id.")
        .max(clientOrganizationsMax, atMost(clientOrganizationsMax, "ids"))
        .openapi({ description: "Organizations whose members may use it.", example: [exampleId("org")] }),
      minRole: roleSchema,
    }),
  ], { error: 'must be "everyone", or have organizationIds and minRole.' })
    .openapi({ description: "Who may use it. By default everyone with an account.", example: "everyone" }),
  scopes: z.array(z.enum(signInScopes)).max(signInScopes.length, atMost(signInScopes.length, "scopes"))
    .openapi({
      description:
        "The scopes of sign-in that it may have, by default all. Resources have scopes of their own.",
      example: ["openid", "profile", "email"],
    }),
  defaultResource: z.string().max(100).nullable().openapi({
    description:
      "The id of the resource that its tokens are for if a request names none. By default they are for userinfo.",
    example: null,
  }),
  consent: z.boolean().openapi({
    description:
      "False if people aren't asked before they give access, as for your own applications. Native ones always ask.",
  }),
  idTokenAlgorithm: z.enum(["RS256", "ES256"]).describe(
    "The algorithm that signs its ID tokens. By default RS256.",
  ),
  requirePkce: z.boolean().openapi({
    description: "False for a confidential application that can't send a PKCE challenge.",
  }),
  groupNames: z.record(z.string().max(200), z.string().min(1).max(200))
    .refine((names) => Object.keys(names).length <= groupNamesMax, { error: atMost(groupNamesMax, "names") })
    .openapi({
      description: "Names that replace those of groups in the claim `groups`.",
      example: { [`${exampleId("org")}:ADMIN`]: "admins" },
    }),
});

export const createClientSchema = settings.partial().required({ name: true }).extend({ type }).openapi(
  "CreateClient",
);
export const changeClientSchema = settings.partial().extend({
  enabled: z.boolean().optional().describe(
    "False to reject all its requests and tokens until it is enabled again.",
  ),
}).openapi("ChangeClient");

const schema = settings.extend({
  id: idOut("cli", "The application's id, which is its `client_id`."),
  type,
  enabled: z.boolean().describe("False if all its requests are rejected."),
  createdAt: timeOut("When the application was added."),
}).openapi("Client");
const withSecret = z.object({
  client: schema,
  secret: stringSchema("The client secret. It appears only in this response. Null for a public client.")
    .nullable(),
});

export function clientRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "account" });
  const path = "/api/operator/clients";
  const params = z.object({ id: idParam("cli", "The application's id.") });
  const routes = nounRoutes(route, { path, one: "client", many: "clients", schema, id: "{id}", params });
  routes.list({
    operationId: "listClients",
    summary: "List applications",
    description:
      `All applications that sign people in here, newest first, at most ${clientsMax}. There is only one page.`,
  }, async () => ({ clients: await listClients(services), nextCursor: null }));
  route({
    route: `POST ${path}`,
    operationId: "createClient",
    summary: "Add an application",
    description: "Requires the setting `SECRETS_KEY`, which encrypts the keys that sign ID tokens.",
    body: createClientSchema,
    responses: { 201: { description: "The application and its secret.", schema: withSecret } },
    errors: ["secrets_key_missing", "limit_reached"],
  }, (_c, { body }, actor) => createClient(services, actor, body));
  routes.get(
    { operationId: "getClient", summary: "Get an application" },
    ({ params: { id } }) => getClient(services, id),
  );
  routes.change({
    operationId: "changeClient",
    summary: "Change an application",
    description:
      "Omitted fields keep their values. Codes that it hasn't used end, and so does access with a scope that you remove.",
    body: changeClientSchema,
  }, ({ params, body }, actor) => changeClient(services, actor, { ...params, ...body }));
  route({
    route: `POST ${path}/{id}/rotate-secret`,
    operationId: "rotateClientSecret",
    summary: "Rotate an application's secret",
    description: "The old secret is rejected immediately. Not found for a public client. Tokens stay valid.",
    params,
    responses: { 200: { description: "The application and its new secret.", schema: withSecret } },
  }, (_c, { params: { id } }, actor) => rotateClientSecret(services, actor, id));
  routes.delete({
    operationId: "deleteClient",
    summary: "Delete an application",
    description: "Everything that it was given ends immediately.",
  }, ({ params: { id } }, actor) => deleteClient(services, actor, id));
}
