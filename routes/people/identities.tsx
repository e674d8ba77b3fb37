// A person's own identities at providers: their shapes, their API, their card, and the pages that connect and disconnect one.
// Other origins can read them, but not change them.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { validationError } from "../../domain/errors.ts";
import { returnToCharactersMax } from "../../domain/limits.ts";
import { type Identity, identityName } from "../../domain/people/identity.ts";
import type { OfferedProvider } from "../../domain/people/identity_provider.ts";
import { beginLink, getIdentity, getSignInMethods, unlinkIdentity } from "../../services/people/mod.ts";
import { Card } from "../../views/components/card.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { securityLink } from "../../views/components/links.ts";
import { DayTime } from "../../views/components/relative_time.tsx";
import { identityColumns, ProviderForm } from "../../views/people/identities.tsx";
import { sessionRoutes } from "../api/endpoint.ts";
import { readFormBody } from "../body.ts";
import type { App, AppEnv, AppParts } from "../env.ts";
import { mountFormPage, ownPages, paramOf } from "../portal/noun_pages.ts";
import { askToReauthenticate, needsReauthentication, type PortalParts, redirect } from "../portal/page.ts";
import { beginVisit, goToProvider } from "./go_to_provider.tsx";
import { idParam, recentWords, stringSchema } from "../schemas/common.ts";
import { identitySchema } from "./schemas/identities.ts";
import { tooLong } from "../schemas/messages.ts";
import { returnToOf } from "./sign_in.tsx";

const listSchema = z.object({
  identities: z.array(identitySchema).describe("Your identities, oldest first."),
  hasPassword: z.boolean().describe("Whether you have a password."),
});
const linkSchema = z.strictObject({
  provider: z.string().max(100, tooLong).openapi({ description: "The provider's slug.", example: "google" }),
  returnTo: z.string().max(returnToCharactersMax, tooLong).optional().openapi({
    description: "The page to continue at: a path of this service, or a URL of an allowed origin.",
    example: "/portal/account/security",
  }),
}).openapi("LinkIdentity");
const visitSchema = z.object({
  url: stringSchema("The address to open in this browser.", "https://accounts.google.com/o/oauth2/v2/auth?…"),
});

const apiPath = "/api/auth/identities";
const connected = `${securityLink.href}?done=connected`;

export function identityRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { config, services } = parts;
  const route = sessionRoutes(app, parts, { tag: "Sign-in" });

  route({
    route: `GET ${apiPath}`,
    operationId: "listIdentities",
    summary: "List the providers that you sign in with",
    responses: { 200: { description: "Your identities at providers.", schema: listSchema } },
  }, async (_c, _input, actor) => {
    const { identities, hasPassword } = await getSignInMethods(services, actor);
    return { identities, hasPassword };
  });

  route({
    route: `POST ${apiPath}`,
    operationId: "linkIdentity",
    summary: "Start connecting a provider",
    description:
      `${recentWords} Open the returned address in the same browser, within 10 minutes: the response sets a cookie ` +
      "without which coming back connects nothing. Only this session can complete it. Requests from other origins are rejected.",
    body: linkSchema,
    responses: { 200: { description: "The address to open.", schema: visitSchema } },
    errors: ["proof_required", "rate_limited", "provider_unavailable"],
  }, async (c, { body: { provider, returnTo: target = connected } }, actor) => {
    const returnTo = returnToOf(target, config);
    if (returnTo === null) {
      const message = "must be a path of this service or a URL of an allowed origin.";
      throw validationError([{ path: "returnTo", message }]);
    }
    const { href: url } = await beginVisit(
      c,
      parts,
      (browserTokens) => beginLink(services, actor, { provider, returnTo, browserTokens }),
    );
    return { url };
  });

  route({
    route: `DELETE ${apiPath}/{id}`,
    operationId: "unlinkIdentity",
    summary: "Disconnect a provider",
    description: `${recentWords} It can no longer be used to sign in. Existing sessions stay.`,
    params: z.object({ id: idParam("idn", "The identity's id.") }),
    responses: { 204: { description: "Disconnected." } },
    errors: ["proof_required", "last_sign_in_method"],
  }, (_c, { params: { id } }, actor) => unlinkIdentity(services, actor, id));
}

const path = "/portal/account/identities";

export function identityPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const pages = ownPages(app, parts, { place: "security", back: securityLink });

  pages.post(`${path}/link`, async (c, session) => {
    const { provider = "" } = await readFormBody(c);
    const link = (browserTokens: readonly string[]) =>
      beginLink(services, session, { provider, returnTo: connected, browserTokens });
    try {
      return await goToProvider(c, parts, link);
    } catch (error) {
      if (needsReauthentication(error)) return askToReauthenticate(c, securityLink.href);
      throw error;
    }
  });
  // Reloading the page that opens a provider.
  app.get(`${path}/link`, (c) => redirect(c, securityLink.href));

  mountFormPage(pages, {
    path: `${path}/:id/remove`,
    async show(c, form, session) {
      const identity = await getIdentity(services, session, paramOf(c, "id"));
      return (
        <ConfirmPage
          {...form}
          title="Disconnect a provider"
          heading="Disconnect {name}?"
          name={identityName(identity)}
          text="You can no longer sign in with it. Existing sessions stay. You can connect it again."
          facts={[
            { label: "Account", value: identity.email ?? "Unknown" },
            { label: "Connected", value: <DayTime at={identity.createdAt} now={form.frame.now} /> },
          ]}
          submit="Disconnect"
        />
      );
    },
    async submit(c, session) {
      await unlinkIdentity(services, session, paramOf(c, "id"));
      return `${securityLink.href}?done=disconnected`;
    },
  });
}

function hrefOf(id: string): string {
  return `${path}/${encodeURIComponent(id)}/remove`;
}

/** `linkable`: providers to connect. Nothing is shown without any of both. */
export function IdentitiesCard({ identities, linkable, now }: {
  identities: readonly Identity[];
  linkable: readonly OfferedProvider[];
  now: number;
}) {
  if (identities.length + linkable.length === 0) return null;
  return (
    <Card title="Ways to sign in" flush>
      {identities.length > 0 && (
        <ItemTable
          label="Connected providers"
          items={identities}
          columns={identityColumns(now)}
          actions={(identity) => [{
            href: hrefOf(identity.id),
            label: "Disconnect",
            tone: "quiet-destroy",
            about: identity.email ?? identityName(identity),
          }]}
        />
      )}
      {linkable.length > 0 && (
        <div class={identities.length > 0 ? "body ruled" : "body"}>
          <p class="muted">Connect an account that you have elsewhere, and sign in with it.</p>
          <div class="buttons">
            {linkable.map((provider) => (
              <ProviderForm action={`${path}/link`} provider={provider} verb="Connect" />
            ))}
          </div>
        </div>
      )}
    </Card>
  );
}
