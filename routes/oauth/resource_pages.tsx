// The console's pages of resources: APIs and MCP servers for which applications get tokens.
import { isId } from "../../domain/id.ts";
import { countOf } from "../../domain/number_text.ts";
import type { ManagedClient } from "../../domain/oauth/client_settings.ts";
import { type Resource, resourceScopesMax, resourcesMax } from "../../domain/oauth/resource.ts";
import {
  changeResource,
  createResource,
  deleteResource,
  getResource,
  listClients,
  listResources,
  rotateResourceSecret,
} from "../../services/oauth/mod.ts";
import { ButtonLink } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { NewSecret } from "../../views/components/code.tsx";
import { CodeExample } from "../../views/components/code_example.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { Facts } from "../../views/components/facts.tsx";
import {
  CheckboxGroup,
  NameField,
  RadioGroup,
  SelectField,
  TextArea,
  TextField,
} from "../../views/components/field.tsx";
import { type FormInput, FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { ListPage } from "../../views/components/list_page.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { DayTime } from "../../views/components/relative_time.tsx";
import { Name } from "../../views/components/table.tsx";
import { type Place, type PortalFrame, PortalPage } from "../../views/layout.tsx";
import { resourceSamples } from "../../views/oauth/recipes.ts";
import type { App } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, mountPage, paramOf, withInput } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator_page.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { check } from "../schemas/check.ts";
import { faultOf } from "./client_forms.tsx";
import { changeResourceSchema, createResourceSchema } from "./resources.ts";

const path = "/operator/resources";
const back = { href: path, label: "Resources" };

export function resourcePages(app: App, parts: PortalParts): void {
  const { services, config } = parts;
  const pages = { ...consolePages(app, parts, "operator/clients"), backOf: () => back };
  const issuer = config.baseUrl.origin;

  mountPage(pages, path, async (c, page) => {
    const { resources } = await listResources(services, { limit: resourcesMax });
    return resourceList({
      ...page,
      resources,
      flash: flashOf(c, { deleted: "Resource deleted. Its tokens no longer work." }),
    });
  });

  mountFormPage(pages, {
    path: `${path}/new`,
    show: async (_c, form) => resourceForm(form, await listClients(services)),
    async submit(c, actor, input) {
      const typed = check(createResourceSchema, typedResource(input), "body");
      const { scopes = [], tokenFormat = "opaque", clients = "all", ...named } = typed;
      const created = await createResource(services, actor, { ...named, scopes, tokenFormat, clients });
      const page = { frame: pages.frameOf(actor), place: pages.place, issuer };
      return await sendPage(c, resourcePage({ ...page, ...created }), 201);
    },
  });

  mountPage(pages, `${path}/:id`, async (c, page) =>
    resourcePage({
      ...page,
      issuer,
      resource: await getResource(services, paramOf(c, "id")),
      flash: flashOf(c, { saved: "Resource saved." }),
    }));

  mountFormPage(pages, {
    path: `${path}/:id/edit`,
    async show(c, form) {
      const resource = await getResource(services, paramOf(c, "id"));
      const shown = withInput(form, form.input ?? resourceInput(resource));
      return resourceForm(shown, await listClients(services), resource);
    },
    async submit(c, actor, input) {
      const id = paramOf(c, "id");
      const typed = check(changeResourceSchema, typedResource(input), "body");
      await changeResource(services, actor, { id, changes: typed });
      return `${path}/${id}?done=saved`;
    },
  });

  mountFormPage(pages, {
    path: `${path}/:id/rotate`,
    async show(c, { field: _field, ...form }) {
      const { name, id } = await getResource(services, paramOf(c, "id"));
      return (
        <ConfirmPage
          {...form}
          title="Rotate secret"
          heading="Rotate the secret of “{name}”?"
          name={name}
          text="The resource can't check tokens until it has the new secret. Existing tokens stay valid."
          facts={[{ label: "Resource ID", value: <code>{id}</code> }]}
          submit="Rotate secret"
        />
      );
    },
    async submit(c, actor) {
      const rotated = await rotateResourceSecret(services, actor, paramOf(c, "id"));
      const page = { frame: pages.frameOf(actor), place: pages.place, issuer };
      return await sendPage(c, resourcePage({ ...page, ...rotated, isRotated: true }), 201);
    },
  });

  mountFormPage(pages, {
    path: `${path}/:id/delete`,
    async show(c, { field: _field, ...form }) {
      const { name, uri } = await getResource(services, paramOf(c, "id"));
      return (
        <ConfirmPage
          {...form}
          title="Delete resource"
          heading="Delete “{name}”?"
          name={name}
          text="All tokens for it are rejected immediately, and applications can't get new ones. This can't be undone."
          facts={[{ label: "URI", value: <code>{uri}</code> }]}
        />
      );
    },
    async submit(c, actor) {
      await deleteResource(services, actor, paramOf(c, "id"));
      return `${path}?done=deleted`;
    },
  });
}

/** Returns a sent form as input of the API. */
function typedResource(input: FormInput) {
  return {
    uri: (input["uri"] ?? "").trim(),
    name: input["name"] ?? "",
    scopes: (input["scopeLines"] ?? "").split(/\s+/).filter((scope) => scope !== ""),
    tokenFormat: input["tokenFormat"] ?? "opaque",
    clients: input["admits"] === "chosen" ? Object.keys(input).filter((name) => isId("cli", name)) : "all",
  };
}

function resourceInput({ uri, name, scopes, tokenFormat, clients }: Resource): FormInput {
  const chosen = clients === "all" ? [] : clients;
  return {
    uri,
    name,
    scopeLines: scopes.join("\n"),
    tokenFormat,
    admits: clients === "all" ? "all" : "chosen",
    ...Object.fromEntries(chosen.map((id) => [id, "on"])),
  };
}

function resourceForm(form: PageForm, clients: readonly ManagedClient[], resource?: Resource) {
  const { input = {}, field, fields } = form;
  const isNew = resource === undefined;
  return (
    <FormPage
      {...form}
      title={isNew ? "Add resource" : "Edit resource"}
      heading={isNew ? undefined : "Edit “{name}”"}
      name={resource?.name}
      text={<a href="/docs/openid">How APIs and MCP servers check tokens</a>}
      error={form.error ?? fields["clients"]}
      submit={isNew ? "Add resource" : "Save"}
    >
      <NameField label="Name" {...field("name")} hint="People see it when they give access." autofocus />
      <TextField
        label="URI"
        {...field("uri")}
        hint="Applications send it as resource. For example: https://mcp.example.com/mcp"
        required
        maxlength={1_000}
      />
      <TextArea
        label="Scopes (optional)"
        {...field("scopeLines")}
        {...faultOf(fields, "scopes")}
        hint={`One on each line, at most ${resourceScopesMax}. People see them when they give access.`}
        rows={3}
        maxlength={6_000}
      />
      <RadioGroup
        label="Tokens"
        {...field("tokenFormat", "opaque")}
        choices={[
          {
            value: "opaque",
            label: "Opaque",
            hint: "The resource looks each token up, so it stops working when the session ends.",
          },
          {
            value: "jwt",
            label: "JWT",
            hint: "The resource checks it alone. It works for 5 minutes, even after the session ends.",
          },
        ]}
      />
      <SelectField
        label="Applications that may get tokens"
        {...field("admits", "all")}
        choices={[{ value: "all", label: "All" }, { value: "chosen", label: "Only the selected ones" }]}
      />
      {clients.length > 0 && (
        <CheckboxGroup
          label="Selected applications"
          name="clients"
          value={new Set(clients.map(({ id }) => id).filter((id) => input[id] !== undefined))}
          choices={clients.map(({ id, name }) => ({ value: id, label: name, isName: true }))}
        />
      )}
    </FormPage>
  );
}

interface PageProps {
  readonly frame: PortalFrame;
  readonly place: Place;
  readonly flash?: string | null;
}

function resourceList({ resources, ...page }: PageProps & { resources: readonly Resource[] }) {
  return (
    <ListPage
      {...page}
      back={{ href: "/operator/clients", label: "Applications" }}
      title="Resources"
      text="Your APIs and MCP servers that applications call with tokens from here."
      add={{ href: `${path}/new`, label: "Add resource" }}
      card={resources.length === resourcesMax ? `All ${resourcesMax}, newest first` : "Newest first"}
      empty={resources.length === 0
        ? {
          title: "No resources yet",
          text: "A resource is an API or an MCP server with its own scopes. Its tokens work nowhere else.",
        }
        : null}
      links={[]}
    >
      <ItemTable
        label="Resources"
        items={resources}
        columns={[
          {
            title: "Resource",
            in: "title",
            cell: ({ id, name }) => (
              <a href={`${path}/${id}`}>
                <Name text={name} />
              </a>
            ),
          },
          { title: "URI", cell: ({ uri }) => <code class="pick">{uri}</code> },
          { title: "Tokens", cell: ({ tokenFormat }) => <span>{formatNames[tokenFormat]}</span> },
          { title: "Applications", cell: ({ clients }) => <span>{whoText(clients)}</span> },
          { title: "Added", cell: ({ createdAt }) => <DayTime at={createdAt} now={page.frame.now} /> },
        ]}
        actions={({ id, name }) => [
          { label: "Edit", href: `${path}/${id}/edit`, about: name },
          { label: "Delete", href: `${path}/${id}/delete`, about: name, tone: "quiet-destroy" },
        ]}
      />
    </ListPage>
  );
}

const formatNames = { opaque: "Opaque", jwt: "JWT" } as const;

const whoText = (clients: Resource["clients"]) =>
  clients === "all" ? "All" : countOf(clients.length, "application");

function resourcePage(
  { frame, place, flash = null, resource, issuer, secret, isRotated = false }: PageProps & {
    readonly resource: Resource;
    readonly issuer: string;
    readonly secret?: string;
    readonly isRotated?: boolean;
  },
) {
  const { id, name, uri, scopes, tokenFormat, clients } = resource;
  return (
    <PortalPage title={name} frame={frame} place={place}>
      <PageHead back={back} title="{name}" name={name} text="Enter these settings in the API or MCP server.">
        <ButtonLink href={`${path}/${id}/edit`}>Edit</ButtonLink>
        <ButtonLink href={`${path}/${id}/rotate`}>Rotate secret</ButtonLink>
      </PageHead>
      <Notice tone="done" text={flash} />
      {secret !== undefined && <NewSecret what="secret" name={name} isReplaced={isRotated} value={secret} />}
      <Card title="Resource" flush>
        <Facts
          facts={[
            { label: "Resource ID", value: <code class="pick">{id}</code> },
            { label: "URI", value: <code class="pick">{uri}</code> },
            { label: "Issuer", value: <code class="pick">{issuer}</code> },
            {
              label: "Tokens",
              value: tokenFormat === "jwt"
                ? "JWT. Each works for 5 minutes, even after the session ends."
                : formatNames[tokenFormat],
            },
            { label: "Applications", value: whoText(clients) },
            { label: "Scopes", value: scopes.join(", ") || "None" },
          ]}
        />
      </Card>
      <Card title="Check tokens">
        <CodeExample id="check" title="Check tokens" samples={resourceSamples({ issuer, resource })} />
      </Card>
    </PortalPage>
  );
}
