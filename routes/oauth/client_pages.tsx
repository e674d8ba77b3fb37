// The console's pages of applications that sign people in here.
import { countOf } from "../../domain/number_text.ts";
import { roleWords } from "../../views/text/role.ts";
import { clientsMax, type ManagedClient } from "../../domain/oauth/client_settings.ts";
import { type Resource, resourcesMax } from "../../domain/oauth/resource.ts";
import {
  changeClient,
  createClient,
  type CreatedClient,
  deleteClient,
  getClient,
  listClients,
  listResources,
  rotateClientSecret,
} from "../../services/oauth/mod.ts";
import { Badge } from "../../views/components/badge.tsx";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { NewSecret } from "../../views/components/code.tsx";
import { CodeExample } from "../../views/components/code_example.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { Facts } from "../../views/components/facts.tsx";
import { SelectField } from "../../views/components/field.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { ListPage } from "../../views/components/list_page.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { DayTime } from "../../views/components/relative_time.tsx";
import { Name } from "../../views/components/table.tsx";
import { type Place, type PortalFrame, PortalPage } from "../../views/layout.tsx";
import { fillRecipe, recipes } from "../../views/oauth/recipes.ts";
import type { App } from "../env.ts";
import { flashOf, queryOf } from "../portal/form.ts";
import { mountFormPage, mountPage, paramOf, withInput } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator_page.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { check } from "../schemas/check.ts";
import { clientForm, clientInput, newClientInput, typedClient } from "./client_forms.tsx";
import { documentsPath } from "./document_pages.tsx";
import { changeClientSchema, createClientSchema } from "./clients.ts";

const path = "/operator/clients";

export function clientPages(app: App, parts: PortalParts): void {
  const { services, config } = parts;
  const pages = consolePages(app, parts, "operator/clients");
  const issuer = config.baseUrl.origin;

  mountPage(pages, path, async (c, page) =>
    clientList({
      ...page,
      clients: await listClients(services),
      flash: flashOf(c, { deleted: "Application deleted. Its access has ended." }),
      hasDocuments: config.oauthClientHosts.length > 0,
    }));

  mountFormPage(pages, {
    path: `${path}/new`,
    show: async (_c, form) =>
      clientForm(withInput(form, form.input ?? newClientInput), await openResources(services)),
    async submit(c, actor, input) {
      const typed = check(createClientSchema, { ...typedClient(input), type: input["type"] ?? "" }, "body");
      const created = await createClient(services, actor, typed);
      const page = { frame: pages.frameOf(actor), place: pages.place, issuer, recipe: undefined };
      return await sendPage(c, clientPage({ ...page, ...created }), 201);
    },
  });

  mountPage(pages, `${path}/:id`, async (c, page) =>
    clientPage({
      ...page,
      issuer,
      client: await getClient(services, paramOf(c, "id")),
      recipe: queryOf(c, "recipe"),
      flash: flashOf(c, { saved: "Application saved." }),
    }));

  mountFormPage(pages, {
    path: `${path}/:id/edit`,
    async show(c, form) {
      const client = await getClient(services, paramOf(c, "id"));
      const resources = await openResources(services, client.id);
      return clientForm(withInput(form, form.input ?? clientInput(client)), resources, client);
    },
    async submit(c, actor, input) {
      const id = paramOf(c, "id");
      const typed = { ...typedClient(input), enabled: input["enabled"] !== undefined };
      await changeClient(services, actor, { id, ...check(changeClientSchema, typed, "body") });
      return `${path}/${id}?done=saved`;
    },
  });

  mountFormPage(pages, {
    path: `${path}/:id/rotate`,
    async show(c, { field: _field, ...form }) {
      const { name, id } = await getClient(services, paramOf(c, "id"));
      return (
        <ConfirmPage
          {...form}
          title="Rotate secret"
          heading="Rotate the secret of “{name}”?"
          name={name}
          text="The old secret is rejected immediately. Existing tokens stay valid."
          facts={[{ label: "Client ID", value: <code>{id}</code> }]}
          submit="Rotate secret"
        />
      );
    },
    async submit(c, actor) {
      const rotated = await rotateClientSecret(services, actor, paramOf(c, "id"));
      const page = { frame: pages.frameOf(actor), place: pages.place, issuer, recipe: undefined };
      return await sendPage(c, clientPage({ ...page, ...rotated, isRotated: true }), 201);
    },
  });

  mountFormPage(pages, {
    path: `${path}/:id/delete`,
    async show(c, { field: _field, ...form }) {
      const { name, id } = await getClient(services, paramOf(c, "id"));
      return (
        <ConfirmPage
          {...form}
          title="Delete application"
          heading="Delete “{name}”?"
          name={name}
          text="No one can sign in to it anymore, and all its tokens are rejected immediately. This can't be undone."
          facts={[{ label: "Client ID", value: <code>{id}</code> }]}
        />
      );
    },
    async submit(c, actor) {
      await deleteClient(services, actor, paramOf(c, "id"));
      return `${path}?done=deleted`;
    },
  });
}

/** Returns the resources that admit a client. */
async function openResources(services: PortalParts["services"], clientId?: string): Promise<Resource[]> {
  const { resources } = await listResources(services, { limit: resourcesMax });
  return resources.filter(({ clients }) => clients === "all" || clientId && clients.includes(clientId));
}

interface PageProps {
  readonly frame: PortalFrame;
  readonly place: Place;
  readonly flash?: string | null;
}

function clientList(
  { clients, hasDocuments, ...page }: PageProps & {
    clients: readonly ManagedClient[];
    hasDocuments: boolean;
  },
) {
  const add = { href: `${path}/new`, label: "Add application" };
  return (
    <ListPage
      {...page}
      title="Applications"
      text="Applications such as Grafana and Gitea that people sign in to with their accounts here."
      add={add}
      actions={
        <>
          <ButtonLink href="/operator/resources">Resources</ButtonLink>
          {clients.length > 0 && <ButtonLink tone="primary" href={add.href}>{add.label}</ButtonLink>}
        </>
      }
      card={clients.length === clientsMax ? `All ${clientsMax}, newest first` : "Newest first"}
      empty={clients.length === 0
        ? {
          title: "No applications yet",
          text: "Applications use OpenID Connect or OAuth to sign people in.",
        }
        : null}
      links={[{ href: hasDocuments ? documentsPath : null, label: "Published applications" }]}
    >
      <ItemTable
        label="Applications"
        items={clients}
        columns={[
          {
            title: "Application",
            in: "title",
            cell: ({ id, name }) => (
              <a href={`${path}/${id}`}>
                <Name text={name} />
              </a>
            ),
          },
          { title: "Client ID", cell: ({ id }) => <code class="pick">{id}</code> },
          { title: "Who", cell: ({ access }) => <span>{whoText(access)}</span> },
          { title: "Added", cell: ({ createdAt }) => <DayTime at={createdAt} now={page.frame.now} /> },
          { title: "Status", in: "state", cell: (client) => <Status {...client} /> },
        ]}
        isOver={({ enabled }) => !enabled}
        actions={({ id, name }) => [
          { label: "Edit", href: `${path}/${id}/edit`, about: name },
          { label: "Delete", href: `${path}/${id}/delete`, about: name, tone: "quiet-destroy" },
        ]}
      />
    </ListPage>
  );
}

function whoText(access: ManagedClient["access"]): string {
  if (access === "everyone") return "Everyone";
  const { organizationIds: { length }, minRole } = access;
  return `${countOf(length, "organization")}, ${roleWords[minRole]} or higher`;
}

const Status = ({ enabled }: ManagedClient) =>
  enabled ? <Badge tone="on">Enabled</Badge> : <Badge tone="off">Disabled</Badge>;

interface ClientPageProps extends PageProps {
  readonly client: ManagedClient;
  readonly issuer: string;
  readonly recipe: string | undefined;
  readonly secret?: CreatedClient["secret"];
  readonly isRotated?: boolean;
}

function clientPage(
  { frame, place, flash = null, client, issuer, recipe, secret = null, isRotated = false }: ClientPageProps,
) {
  const { id, name } = client;
  return (
    <PortalPage title={name} frame={frame} place={place}>
      <PageHead
        back={{ href: path, label: "Applications" }}
        title="{name}"
        name={name}
        text="Enter these settings in the application."
      >
        <ButtonLink href={`${path}/${id}/edit`}>Edit</ButtonLink>
        {client.type === "confidential" && (
          <ButtonLink href={`${path}/${id}/rotate`}>Rotate secret</ButtonLink>
        )}
      </PageHead>
      <Notice tone="done" text={flash} />
      {secret !== null && <NewSecret what="secret" name={name} isReplaced={isRotated} value={secret} />}
      <Card title="Client" flush>
        <Facts
          facts={[
            { label: "Client ID", value: <code class="pick">{id}</code> },
            { label: "Issuer", value: <code class="pick">{issuer}</code> },
            { label: "Type", value: client.type === "public" ? "Public, without a secret" : "Confidential" },
            { label: "Status", value: <Status {...client} /> },
            { label: "Who can use it", value: whoText(client.access) },
            { label: "Scopes", value: client.scopes.join(", ") || "None" },
            {
              label: "Redirect URIs",
              value: client.redirectUris.map((uri) => (
                <div>
                  <code class="pick">{uri}</code>
                </div>
              )),
            },
          ]}
        />
      </Card>
      <RecipeCard client={client} issuer={issuer} chosen={recipe} />
    </PortalPage>
  );
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
