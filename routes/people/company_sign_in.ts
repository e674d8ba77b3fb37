// The API of an organization's own provider and domains, for its owners, and for operators who help them.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { companyRoles, domainCharactersMax } from "../../domain/people/company_sign_in.ts";
import {
  clientIdCharactersMax,
  clientSecretCharactersMax,
  issuerCharactersMax,
} from "../../domain/people/provider_metadata.ts";
import { accessTo, operatorAccess } from "../../services/access/mod.ts";
import { companyDomains as domains, companySignIn as verbs } from "../../services/people/mod.ts";
import { type MountRoute, sessionRoutes, withAccess } from "../api/endpoint.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { AppEnv, AppParts } from "../env.ts";
import { stringSchema, timeOut } from "../schemas/common.ts";
import { characters } from "../schemas/messages.ts";
import { organizationParamsSchema as operatorParams } from "../schemas/organization_reference.ts";
import { beginVisit } from "./go_to_provider.tsx";
import { organizationParamsSchema } from "./schemas/people.ts";

const textIn = (charactersMax: number, description: string, example: string) =>
  z.string().trim().min(1, characters(charactersMax, 1)).max(charactersMax, characters(charactersMax, 1))
    .openapi({ description, example });
const daysWords =
  "Ends sessions of people of the verified domains after so many days, at most SESSION_MAX_DAYS.";

export const companyProviderSchema = z.strictObject({
  issuer: textIn(
    issuerCharactersMax,
    "The issuer exactly as the provider's discovery document names it.",
    "https://acme.okta.com",
  ),
  clientId: textIn(clientIdCharactersMax, "The client ID that the provider gave you.", "0oa1b2c3d4"),
  clientSecret: textIn(
    clientSecretCharactersMax,
    "The client secret. It is never returned. If omitted, the stored one is kept.",
    "q3J8…",
  ).optional(),
  role: z.enum(companyRoles).openapi({
    description: "The role of people who join by signing in with the provider.",
  }),
  enforced: z.boolean().describe(
    "True if people with addresses of the verified domains sign in only with the provider. Needs a successful test.",
  ),
  sessionMaxDays: z.number().int().min(1).nullish().describe(daysWords),
}).openapi("PutSingleSignOn");
export const companyDomainSchema = z.strictObject({
  domain: z.string().max(2 * domainCharactersMax, characters(domainCharactersMax, 1)).openapi({
    description: "A domain that your organization owns. Subdomains don't count.",
    example: "example.com",
  }),
}).openapi("AddSingleSignOnDomain");

const domainSchema = z.object({
  domain: stringSchema("In lower case and Punycode.", "example.com"),
  recordName: stringSchema("The name of the TXT record that proves it.", "_gatehouse.example.com"),
  recordValue: stringSchema("What the record must contain.", "gatehouse-domain=Zk3v…"),
  verifiedAt: timeOut("When the record was found. Null if it wasn't yet.").nullable(),
  missingSince: timeOut(
    "The time since which daily look-ups haven't found the record. After two weeks, the domain isn't verified anymore. Null if it was found.",
  ).nullable(),
}).openapi("SingleSignOnDomain");
const schema = z.object({
  redirectUri: stringSchema(
    "The redirect URI to enter at the provider.",
    "https://auth.example.com/sign-in/with/sso-5f2c8a0b9d3e7146/callback",
  ),
  signInUrl: stringSchema(
    "Where people can begin to sign in once a domain is verified.",
    "https://auth.example.com/sign-in/with/sso-5f2c8a0b9d3e7146",
  ),
  provider: z.object({
    issuer: stringSchema("The provider's issuer.", "https://acme.okta.com"),
    clientId: stringSchema("The client ID.", "0oa1b2c3d4"),
    role: z.enum(companyRoles).describe("The role of new members."),
    enforced: z.boolean().describe("True if people of the verified domains sign in only with it."),
    sessionMaxDays: z.number().int().nullable().describe(daysWords),
    testedAt: timeOut("When it was tested with its current issuer, client ID and secret. Null if not.")
      .nullable(),
    hasPendingSecret: z.boolean().describe(
      "True if a new client secret waits for a successful test. Until then, people sign in with the previous one.",
    ),
  }).nullable().describe("Null until one is set up."),
  domains: z.array(domainSchema).describe("Sorted by name."),
}).openapi("SingleSignOn");
const found = { 200: { description: "Single sign-on.", schema: z.object({ sso: schema }) } };
const one = { description: "The domain.", schema: z.object({ domain: domainSchema }) };
const params = organizationParamsSchema;
const domainParams = params.extend({
  domain: z.string().max(domainCharactersMax).openapi({ description: "The domain.", example: "example.com" }),
});
const owner = "Requires the owner role and authentication within the last 10 minutes.";
const errors = ["forbidden", "proof_required", "email_unverified"] as const;
const path = "/api/portal/organizations/{id}/sso";

export function companySignInRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  providerRoutes(app, parts);
  domainRoutes(withAccess(sessionRoutes(app, parts, { tag: "Organizations" }), accessTo), parts);
  forOperators(app, parts);
}

function providerRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = withAccess(sessionRoutes(app, parts, { tag: "Organizations" }), accessTo);
  route({
    route: `GET ${path}`,
    operationId: "getSingleSignOn",
    summary: "Get an organization's single sign-on",
    description: "Requires the owner role.",
    params,
    responses: found,
    errors: ["forbidden"],
  }, async (_c, _input, access) => ({ sso: await verbs.getCompanySignIn(services, access) }));
  route({
    route: `PUT ${path}`,
    operationId: "putSingleSignOn",
    summary: "Set up or change an organization's single sign-on",
    description:
      `${owner} All owners get an email. Another issuer, client ID or secret must be tested before \`enforced\` can be true. ` +
      "While it is true, a new client secret alone waits for a test and then replaces the previous one. Existing sessions, also " +
      "those that began with a password, stay until they end; `sessionMaxDays` ends them sooner.",
    params,
    body: companyProviderSchema,
    responses: found,
    errors: [...errors, "sso_untested", "rate_limited"],
  }, async (_c, { body }, access) => ({ sso: await verbs.putCompanyProvider(services, access, body) }));
  route({
    route: `DELETE ${path}`,
    operationId: "removeSingleSignOn",
    summary: "Remove an organization's provider",
    description: `${owner} Domains stay. Existing sessions stay.`,
    params,
    responses: { 204: { description: "Removed." } },
    errors,
  }, (_c, _input, access) => verbs.removeCompanyProvider(services, access));
  route({
    route: `POST ${path}/test`,
    operationId: "testSingleSignOn",
    summary: "Start a test of an organization's provider",
    description:
      `${owner} Open the returned address in the same browser, within 10 minutes, and sign in with an address of a ` +
      "verified domain. The response sets a cookie that the return visit needs.",
    params,
    responses: {
      200: {
        description: "The address to open.",
        schema: z.object({
          url: stringSchema("The address at the provider.", "https://acme.okta.com/authorize?…"),
        }),
      },
    },
    errors: [...errors, "rate_limited", "provider_unavailable"],
  }, async (c, _input, access) => {
    const url = await beginVisit(c, parts, (tokens) => verbs.beginProviderTest(services, access, tokens));
    return { url: url.href };
  });
}

function domainRoutes(route: MountRoute<ReturnType<typeof accessTo>>, { services }: AppParts): void {
  route({
    route: `POST ${path}/domains`,
    operationId: "addSingleSignOnDomain",
    summary: "Add a domain to single sign-on",
    description: `${owner} Publish the TXT record in the response, then verify the domain.`,
    params,
    body: companyDomainSchema,
    responses: { 201: one },
    errors: [...errors, "limit_reached"],
  }, async (_c, { body }, access) => ({
    domain: await domains.addCompanyDomain(services, access, body.domain),
  }));
  route({
    route: `DELETE ${path}/domains/{domain}`,
    operationId: "removeSingleSignOnDomain",
    summary: "Remove a domain from single sign-on",
    description: `${owner} Takes effect immediately.`,
    params: domainParams,
    responses: { 204: { description: "Removed." } },
    errors,
  }, (_c, { params: { domain } }, access) => domains.removeCompanyDomain(services, access, domain));
  route({
    route: `POST ${path}/domains/{domain}/verify`,
    operationId: "verifySingleSignOnDomain",
    summary: "Verify a domain by its TXT record",
    description:
      `${owner} A domain that another organization has verified moves here if that organization's TXT record is gone.`,
    params: domainParams,
    responses: { 200: one },
    errors: [...errors, "domain_unproved", "domain_taken", "rate_limited"],
  }, async (_c, { params: { domain } }, access) => ({
    domain: await domains.verifyCompanyDomain(services, access, domain),
  }));
}

function forOperators(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const operators = operatorRoutes(app, parts, { read: "organizations:read", write: "organizations:write" });
  const route = withAccess(operators, (operator, id) => operatorAccess(services, operator, id));
  const operatorPath = "/api/operator/organizations/{id}/sso";
  route({
    route: `GET ${operatorPath}`,
    operationId: "operatorGetSingleSignOn",
    summary: "Get an organization's single sign-on",
    params: operatorParams,
    responses: found,
  }, async (_c, _input, access) => ({ sso: await verbs.getCompanySignIn(services, access) }));
  route({
    route: `PATCH ${operatorPath}`,
    operationId: "operatorStopRequiringSingleSignOn",
    summary: "Stop requiring an organization's single sign-on",
    description:
      "For an organization whose provider is broken. Its people can sign in with passwords and passkeys again.",
    params: operatorParams,
    body: z.strictObject({
      enforced: z.literal(false, "must be false.").describe("False, as operators only stop requiring it."),
    }).openapi(
      "StopRequiringSingleSignOn",
    ),
    responses: found,
  }, async (_c, _input, access) => ({ sso: await verbs.stopRequiringProvider(services, access) }));
}
