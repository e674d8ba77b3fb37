// How people sign in to the filled portal's company, and the applications that they sign in to.
import { sql } from "../../../db/engine/database.ts";
import { companySlug } from "../../../domain/people/company_sign_in.ts";
import { addProvider } from "../identity_providers/providers.ts";
import { addClient, addResource } from "../oauth/scene.ts";
import type { Scene } from "./scene.ts";

/** The company's own provider, with a domain that is verified and one that isn't. */
export async function addSingleSignOn({ test, organizationId }: Scene): Promise<void> {
  const okta = { url: "https://northwind.okta.com", clientId: "0oa1b2c3d4", clientSecret: "secret" };
  const company = { organizationId, domains: ["northwind.example"] };
  await addProvider(test, okta, { slug: companySlug(organizationId), name: "Northwind Maps", company });
  await test.opened.database.write([
    sql`INSERT INTO organization_domains (organization_id, domain, token, created_at)
      VALUES (${organizationId}, 'karten.northwind.example', 'gatehouse-domain=4Xw', ${test.now()})`,
  ]);
}

/** Applications that sign people in, and an MCP server that is the default resource of one. */
export async function addApplications({ test }: Scene): Promise<void> {
  const defaultResource = await addResource(test, {
    uri: "https://mcp.northwind.example/mcp",
    format: "jwt",
  });
  await addClient(test, { redirectUris: ["https://grafana.northwind.example/login/generic_oauth"] });
  await addClient(test, { name: "Map assistant", isPublic: true, defaultResource });
}
