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
import { Card } from "../../views/components/card.tsx";
import { CodeExample } from "../../views/components/code_example.tsx";
import {
  CheckboxGroup,
  NameField,
  RadioGroup,
  SelectField,
  TextArea,
  TextField,
} from "../../views/components/field.tsx";
import type { FormInput, PageForm } from "../../views/components/form_page.tsx";
import { resourceSamples } from "../../views/oauth/recipes.ts";
import type { App } from "../env.ts";
import { consolePages } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import { check } from "../schemas/check.ts";
import { faultOf } from "./client_forms.tsx";
import { mountRegistered } from "./registered_pages.tsx";
import { changeResourceSchema, createResourceSchema } from "./resources.ts";

const path = "/operator/resources";

export function resourcePages(app: App, parts: PortalParts): void {
  const { services, config } = parts;
  const backOf = () => ({ href: path, label: "Resources" });
  const issuer = config.baseUrl.origin;
  mountRegistered<Resource>({ ...consolePages(app, parts, "operator/clients"), backOf }, {
    path,
    one: "Resource",
    most: resourcesMax,
    listAll: async () => (await listResources(services, { limit: resourcesMax })).resources,
    get: (id) => getResource(services, id),
    async create(actor, input) {
      const typed = check(createResourceSchema, typedResource(input), "body");
      const { scopes = [], tokenFormat = "opaque", clients = "all", ...named } = typed;
      const created = await createResource(services, actor, { ...named, scopes, tokenFormat, clients });
      return { item: created.resource, secret: created.secret };
    },
    change(actor, id, input) {
      const changes = check(changeResourceSchema, typedResource(input), "body");
      return changeResource(services, actor, { id, changes });
    },
    async rotate(actor, id) {
      const { resource: item, secret } = await rotateResourceSecret(services, actor, id);
      return { item, secret };
    },
    remove: (actor, id) => deleteResource(services, actor, id),
    list: {
      back: { href: "/operator/clients", label: "Applications" },
      text: "Your APIs and MCP servers that applications call with tokens from here.",
      empty: "A resource is an API or an MCP server with its own scopes. Its tokens work nowhere else.",
      columns: [
        { title: "URI", cell: ({ uri }) => <code class="pick">{uri}</code> },
        { title: "Tokens", cell: ({ tokenFormat }) => <span>{formatNames[tokenFormat]}</span> },
        { title: "Applications", cell: ({ clients }) => <span>{whoText(clients)}</span> },
      ],
      links: [],
    },
    hasSecret: () => true,
    inputOf: resourceInput,
    form: async (form) => resourceForm(form, await listClients(services)),
    text: "Enter these settings in the API or MCP server.",
    title: "Resource",
    facts: ({ id, uri, tokenFormat, clients, scopes }) => [
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
    ],
    setUp: (resource) => (
      <Card title="Check tokens">
        <CodeExample id="check" title="Check tokens" samples={resourceSamples({ issuer, resource })} />
      </Card>
    ),
    rotation: "The resource can't check tokens until it has the new secret. Existing tokens stay valid.",
    deletion: "All tokens for it are rejected immediately, and applications can't get new ones.",
    ended: "Its tokens no longer work.",
    idFact: ({ id }) => ({ label: "Resource ID", value: <code>{id}</code> }),
    addressFact: ({ uri }) => ({ label: "URI", value: <code>{uri}</code> }),
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

function resourceInput(resource?: Resource): FormInput {
  if (resource === undefined) return {};
  const { uri, name, scopes, tokenFormat, clients } = resource;
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

const formatNames = { opaque: "Opaque", jwt: "JWT" } as const;

const whoText = (clients: Resource["clients"]) =>
  clients === "all" ? "All" : countOf(clients.length, "application");

function resourceForm(form: PageForm, clients: readonly ManagedClient[]) {
  const { input = {}, field, fields } = form;
  return {
    text: <a href="/docs/openid">How APIs and MCP servers check tokens</a>,
    error: form.error ?? fields["clients"],
    children: (
      <>
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
      </>
    ),
  };
}
