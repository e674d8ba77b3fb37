// The providers of the whole service that people sign in with: their shapes, their API, and their pages in the console. Only operator
// accounts may use them: a provider can sign in as anyone whose address it vouches for.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { providerKinds } from "../../domain/people/identity_provider.ts";
import { offeredProvidersMax } from "../../domain/people/provider_limits.ts";
import {
  clientIdCharactersMax,
  clientSecretCharactersMax,
  isRegisteredText,
  issuerCharactersMax,
  providerSlugForm,
  providerSlugWords,
  redirectUri,
} from "../../domain/people/provider_metadata.ts";
import {
  changeServiceProvider,
  checkIssuer,
  countProviderAccounts,
  createServiceProvider,
  deleteServiceProvider,
  getServiceProvider,
  listServiceProviders,
} from "../../services/people/mod.ts";
import { ItemTable } from "../../views/components/item_table.tsx";
import { ListPage } from "../../views/components/list_page.tsx";
import { DayTime } from "../../views/components/relative_time.tsx";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { App, AppEnv, AppParts } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, mountPage, paramOf, withInput } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import { check, checkTogether } from "../schemas/check.ts";
import { idOut, idParam, nameSchema, stringSchema, timeOut } from "../schemas/common.ts";
import {
  confirmDeletion,
  providerForm,
  providerInput,
  ProviderName,
  typedProvider,
  Vouching,
} from "./identity_provider_forms.tsx";

function registeredText(description: string, charactersMax: number, example: string) {
  const error = `must have 1 to ${charactersMax} printable ASCII characters.`;
  return z.string().trim().refine((text) => isRegisteredText(text, charactersMax), { error })
    .openapi({ minLength: 1, maxLength: charactersMax, description, example });
}

const slug = z.string().regex(providerSlugForm, `must be ${providerSlugWords}.`).openapi({
  description: `Part of its redirect URI: ${providerSlugWords}. It can't be changed.`,
  example: "okta",
});
const kind = z.enum(providerKinds).openapi({
  description: "`oidc` for any OpenID provider, such as Okta and Keycloak. It can't be changed.",
  example: "oidc",
});
const changeSchema = z.strictObject({
  name: nameSchema("The name on its button", { example: "Okta" }).optional(),
  issuer: z.string().max(issuerCharactersMax).optional().openapi({
    description:
      "Exactly as in its discovery document. By default that of Google or GitHub. For GitHub Enterprise Server, its " +
      "address; for Microsoft, with the id of one tenant.",
    example: "https://example.okta.com",
  }),
  clientId: registeredText("The client ID from the provider.", clientIdCharactersMax, "0oa1b2c3d4")
    .optional(),
  clientSecret: registeredText(
    "The client secret from the provider. It is never returned.",
    clientSecretCharactersMax,
    "s3cr3t",
  ).optional(),
  trustEmail: z.boolean().optional().describe(
    "True to believe every email address of the provider, verified or not. It can then sign in as any account with that address.",
  ),
  signUp: z.boolean().optional().describe(
    "False to admit only existing accounts and invited people. It never admits more than the setting `SIGN_UP`.",
  ),
  position: z.number().int("must be a whole number.")
    .min(1, `must be from 1 to ${offeredProvidersMax}.`)
    .max(offeredProvidersMax, `must be from 1 to ${offeredProvidersMax}.`)
    .optional().describe("The position of its sign-in button, starting at 1. The others keep their order."),
}).openapi("ChangeIdentityProvider");
const createSchema = changeSchema.required({ name: true, clientId: true, clientSecret: true })
  .omit({ position: true }).extend({ slug, kind }).openapi("CreateIdentityProvider");

const schema = z.object({
  id: idOut("idp", "The provider's id."),
  slug: stringSchema("Part of its redirect URI.", "okta"),
  kind: z.enum(providerKinds).describe("`oidc` for any OpenID provider."),
  name: stringSchema("The name on its button.", "Okta"),
  issuer: stringSchema("Who it is, as in its discovery document.", "https://example.okta.com"),
  clientId: stringSchema("The client ID from the provider.", "0oa1b2c3d4"),
  trustEmail: z.boolean().describe("True if every email address of the provider is believed."),
  signUp: z.boolean().describe("False if it admits only existing accounts and invited people."),
  position: z.number().int().describe("The position of its sign-in button, starting at 1."),
  redirectUri: stringSchema(
    "The address to register at the provider.",
    "https://auth.example.com/sign-in/with/okta/callback",
  ),
  createdAt: timeOut("When the provider was added."),
  updatedAt: timeOut("When it was last changed."),
}).openapi("IdentityProvider");

export function identityProviderRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const routes = nounRoutes(operatorRoutes(app, parts, { read: "account" }), {
    path: "/api/operator/identity-providers",
    one: "identityProvider",
    many: "identityProviders",
    schema,
    id: "{id}",
    params: z.object({ id: idParam("idp", "The provider's id.") }),
  });
  routes.list({
    operationId: "listIdentityProviders",
    summary: "List sign-in providers",
    description: "The providers of the whole service, in the order of their buttons. There is only one page.",
  }, async () => ({ identityProviders: await listServiceProviders(services), nextCursor: null }));
  routes.create({
    operationId: "createIdentityProvider",
    summary: "Add a sign-in provider",
    description: "The provider must be reachable. Register the `redirectUri` of the response there.",
    body: createSchema,
    errors: ["provider_taken", "limit_reached"],
  }, ({ body }, actor) => createServiceProvider(services, actor, body));
  routes.get(
    { operationId: "getIdentityProvider", summary: "Get a sign-in provider" },
    ({ params: { id } }) => getServiceProvider(services, id),
  );
  routes.change({
    operationId: "changeIdentityProvider",
    summary: "Change a sign-in provider",
    description:
      "Omitted fields keep their values. People are identified by the issuer: if it changes, they have to connect again.",
    body: changeSchema,
  }, ({ params, body }, actor) => changeServiceProvider(services, actor, { ...params, ...body }));
  routes.delete({
    operationId: "deleteIdentityProvider",
    summary: "Delete a sign-in provider",
    description: "No one can sign in with it anymore. Existing sessions stay.",
  }, async ({ params: { id } }, actor) => void await deleteServiceProvider(services, actor, id));
}

const path = "/operator/identity-providers";

export function identityProviderPages(app: App, parts: PortalParts): void {
  const { services, config } = parts;
  const pages = consolePages(app, parts, "operator/identity-providers");
  const redirectTemplate = redirectUri(config.baseUrl, "SLUG");

  mountPage(pages, path, async (c, page) => {
    const providers = await listServiceProviders(services);
    return (
      <ListPage
        {...page}
        title="Sign-in providers"
        text="Buttons for signing in with Google, Microsoft, GitHub or any OpenID provider, in this order."
        flash={flashOf(c, {
          added: "Provider added. Register its redirect URI at the provider.",
          saved: "Provider saved.",
          deleted: "Provider deleted.",
        })}
        add={{ href: `${path}/new`, label: "Add provider" }}
        card="Providers of the whole service"
        empty={providers.length === 0
          ? { title: "No providers yet", text: "People sign in with a password or a passkey." }
          : null}
        links={[]}
      >
        <ItemTable
          label="Sign-in providers"
          items={providers}
          columns={[
            { title: "Provider", in: "title", cell: (provider) => <ProviderName {...provider} /> },
            { title: "Redirect URI", cell: ({ redirectUri }) => <code class="pick">{redirectUri}</code> },
            {
              title: "New people",
              cell: ({ signUp }) => <span>{signUp ? "May sign up" : "By invitation"}</span>,
            },
            { title: "Email addresses", cell: (provider) => <Vouching {...provider} /> },
            { title: "Added", cell: ({ createdAt }) => <DayTime at={createdAt} now={page.frame.now} /> },
          ]}
          actions={({ id, name }) => [
            { label: "Edit", href: `${path}/${id}/edit`, about: name },
            { label: "Delete", href: `${path}/${id}/delete`, about: name, tone: "quiet-destroy" },
          ]}
        />
      </ListPage>
    );
  });

  mountFormPage(pages, {
    path: `${path}/new`,
    show: (_c, form) => providerForm(form, { redirectUri: redirectTemplate }),
    async submit(_c, actor, input) {
      const { position: _none, ...typed } = typedProvider(input);
      const { slug = "", kind = "" } = input;
      const provider = await checkTogether(
        () => check(createSchema, { ...typed, slug, kind }, "body"),
        () => checkIssuer(services, check(createSchema.shape.kind, kind, "body"), typed.issuer),
      );
      await createServiceProvider(services, actor, provider);
      return `${path}?done=added`;
    },
  });

  mountFormPage(pages, {
    path: `${path}/:id/edit`,
    async show(c, form) {
      const provider = await getServiceProvider(services, paramOf(c, "id"));
      const { length } = await listServiceProviders(services);
      return providerForm(withInput(form, form.input ?? providerInput(provider)), {
        redirectUri: provider.redirectUri,
        provider,
        positions: Array.from({ length }, (_, index) => String(index + 1)),
      });
    },
    async submit(c, actor, input) {
      // An empty secret keeps the stored one.
      const { clientSecret, ...typed } = typedProvider(input);
      const id = paramOf(c, "id");
      const { kind, issuer } = await getServiceProvider(services, id);
      const change = await checkTogether(
        () => check(changeSchema, clientSecret === "" ? typed : { ...typed, clientSecret }, "body"),
        () => typed.issuer && typed.issuer !== issuer && checkIssuer(services, kind, typed.issuer),
      );
      await changeServiceProvider(services, actor, { id, ...change });
      return `${path}?done=saved`;
    },
  });

  mountFormPage(pages, {
    path: `${path}/:id/delete`,
    async show(c, form) {
      const provider = await getServiceProvider(services, paramOf(c, "id"));
      return confirmDeletion(form, provider, await countProviderAccounts(services, provider));
    },
    async submit(c, actor) {
      await deleteServiceProvider(services, actor, paramOf(c, "id"));
      return `${path}?done=deleted`;
    },
  });
}
