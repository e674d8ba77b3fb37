// The console's pages of applications that sign people in here.
import { countOf } from "../../domain/number_text.ts";
import { roleWords } from "../../views/text/role.ts";
import { clientsMax, type ManagedClient } from "../../domain/oauth/client_settings.ts";
import { type Resource, resourcesMax } from "../../domain/oauth/resource.ts";
import {
  changeClient,
  createClient,
  deleteClient,
  getClient,
  listClients,
  listResources,
  rotateClientSecret,
} from "../../services/oauth/mod.ts";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { CodeExample } from "../../views/components/code_example.tsx";
import { SelectField } from "../../views/components/field.tsx";
import { fillRecipe, recipes } from "../../views/oauth/recipes.ts";
import type { App } from "../env.ts";
import { consolePages } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import { check } from "../schemas/check.ts";
import { clientForm, clientInput, typedClient } from "./client_forms.tsx";
import { documentsPath } from "./document_pages.tsx";
import { changeClientSchema, createClientSchema } from "./clients.ts";
import { EnabledBadge, mountRegistered } from "./registered_pages.tsx";

const path = "/operator/clients";

export function clientPages(app: App, parts: PortalParts): void {
  const { services, config } = parts;
  const issuer = config.baseUrl.origin;
  const idFact = ({ id }: ManagedClient) => ({ label: "Client ID", value: <code>{id}</code> });
  mountRegistered<ManagedClient>(consolePages(app, parts, "operator/clients"), {
    path,
    one: "Application",
    most: clientsMax,
    listAll: () => listClients(services),
    get: (id) => getClient(services, id),
    async create(actor, input) {
      const typed = check(createClientSchema, { ...typedClient(input), type: input["type"] ?? "" }, "body");
      const { client: item, secret } = await createClient(services, actor, typed);
      return { item, secret };
    },
    change(actor, id, input) {
      const typed = { ...typedClient(input), enabled: input["enabled"] !== undefined };
      return changeClient(services, actor, { id, ...check(changeClientSchema, typed, "body") });
    },
    async rotate(actor, id) {
      const { client: item, secret } = await rotateClientSecret(services, actor, id);
      return { item, secret };
    },
    remove: (actor, id) => deleteClient(services, actor, id),
    list: {
      text: "Applications such as Grafana and Gitea that people sign in to with their accounts here.",
      aside: <ButtonLink href="/operator/resources">Resources</ButtonLink>,
      empty: "Applications use OpenID Connect or OAuth to sign people in.",
      columns: [
        { title: "Client ID", cell: ({ id }) => <code class="pick">{id}</code> },
        { title: "Who", cell: ({ access }) => <span>{whoText(access)}</span> },
      ],
      links: [{
        href: config.oauthClientHosts.length > 0 ? documentsPath : null,
        label: "Published applications",
      }],
    },
    isEnabled: ({ enabled }) => enabled,
    hasSecret: ({ type }) => type === "confidential",
    inputOf: clientInput,
    form: async (form, client) => clientForm(form, await openResources(services, client?.id), client),
    text: "Enter these settings in the application.",
    title: "Client",
    facts: (client) => factsOf(client, issuer),
    setUp: (client, recipe) => <RecipeCard client={client} issuer={issuer} chosen={recipe} />,
    rotation: "The old secret is rejected immediately. Existing tokens stay valid.",
    deletion: "No one can sign in to it anymore, and all its tokens are rejected immediately.",
    ended: "Its access has ended.",
    idFact,
    addressFact: idFact,
  });
}

/** Returns the resources that admit a client. */
async function openResources(services: PortalParts["services"], clientId?: string): Promise<Resource[]> {
  const { resources } = await listResources(services, { limit: resourcesMax });
  return resources.filter(({ clients }) => clients === "all" || clientId && clients.includes(clientId));
}

function whoText(access: ManagedClient["access"]): string {
  if (access === "everyone") return "Everyone";
  const { organizationIds: { length }, minRole } = access;
  return `${countOf(length, "organization")}, ${roleWords[minRole]} or higher`;
}

function factsOf({ id, type, enabled, access, scopes, redirectUris }: ManagedClient, issuer: string) {
  return [
    { label: "Client ID", value: <code class="pick">{id}</code> },
    { label: "Issuer", value: <code class="pick">{issuer}</code> },
    { label: "Type", value: type === "public" ? "Public, without a secret" : "Confidential" },
    { label: "Status", value: <EnabledBadge isEnabled={enabled} /> },
    { label: "Who can use it", value: whoText(access) },
    { label: "Scopes", value: scopes.join(", ") || "None" },
    {
      label: "Redirect URIs",
      value: redirectUris.map((uri) => (
        <div>
          <code class="pick">{uri}</code>
        </div>
      )),
    },
  ];
}

/** One recipe is shown at a time: that which was chosen, or whose name the application has. */
function RecipeCard(
  { client, issuer, chosen }: { client: ManagedClient; issuer: string; chosen: string | undefined },
) {
  const slugs = Object.keys(recipes);
  const named = slugs.find((slug) => client.name.toLowerCase().includes(slug.replace("-", " ")));
  const slug = chosen !== undefined && Object.hasOwn(recipes, chosen) ? chosen : named ?? "grafana";
  const recipe = recipes[slug];
  if (recipe === undefined) return null;
  const { code, redirectUri } = fillRecipe(recipe, { ...client, issuer });
  return (
    <Card title="Set up the application">
      <form method="get" action={`${path}/${client.id}`} class="parts">
        <div class="row one">
          <SelectField
            label="Application"
            name="recipe"
            value={slug}
            choices={slugs.map((value) => ({ value, label: recipes[value]?.name ?? value }))}
          />
          <SubmitButton tone="plain">Show</SubmitButton>
        </div>
      </form>
      <p class="muted small">
        Redirect URI: <code class="pick">{redirectUri}</code>
        {client.redirectUris.includes(redirectUri) ? "" : " It isn't registered here yet."}
      </p>
      <p class="muted small">
        {recipe.isTried
          ? "We test this application with these settings."
          : "These settings follow the application's documentation. We haven't tested them."}
      </p>
      <CodeExample
        id="settings"
        title={recipe.name}
        label={recipe.name}
        samples={[{ language: recipe.language, code }]}
      />
    </Card>
  );
}
