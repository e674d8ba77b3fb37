// The console's pages of an organization's API keys. A new key is shown only in the response to the form, which is never cached.
import { pageItemsDefault } from "../../../domain/limits.ts";
import { createApiKey, getApiKey, listApiKeys, revokeApiKey } from "../../../services/operator/api_keys.ts";
import { FormSentError } from "../../../services/new_api_keys.ts";
import { resolveOrganization } from "../../../services/access.ts";
import { organizationsHref } from "../../../views/operator/links.ts";
import { organizationActionHref } from "../../../views/operator/organization.tsx";
import {
  newOrganizationKeyPage,
  organizationKeysPage,
  type OrganizationKeysPageProps,
  revokeOrganizationKeyPage,
} from "../../../views/operator/organization_keys.tsx";
import type { App, AppContext } from "../../env.ts";
import { flashOf, mountForm, queryOf } from "../form.ts";
import { newKeyOf, newKeyValues } from "../key_form.ts";
import { type PortalParts, redirect, sendPage } from "../page.ts";
import { idOf } from "./organization.ts";
import { type ConsoleActor, mountConfirmation, operatorForms, operatorFrame, operatorPages } from "./page.ts";

const path = `${organizationsHref}/:id/api-keys`;

/** Mounts `/operator/organizations/:id/api-keys`. */
export function operatorOrganizationKeyPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  operatorPages(app, parts).get(path, async (c, actor) => {
    const organization = await resolveOrganization(services, idOf(c));
    return await showList(c, parts, { actor, organization, ...await listKeys(c, parts), created: null });
  });

  mountForm(operatorForms(app, parts), {
    path: `${path}/new`,
    async show(c, actor, { input, ...state }) {
      const page = newOrganizationKeyPage({
        frame: operatorFrame(parts, actor),
        organization: await resolveOrganization(services, idOf(c)),
        values: newKeyValues(input),
        ...state,
      });
      return await sendPage(c, page, state.status);
    },
    async submit(c, actor, input) {
      const key = newKeyOf(input, services.clock());
      try {
        const organization = await resolveOrganization(services, idOf(c));
        const { apiKey, fullKey } = await createApiKey(services, actor, { idText: organization.id, ...key });
        // The key can't be read again, so it is shown in any case.
        const keys = await listKeys(c, parts).catch(() => ({ apiKeys: [apiKey], nextCursor: null }));
        return await showList(c, parts, {
          actor,
          organization,
          ...keys,
          created: { name: key.name, fullKey },
        });
      } catch (error) {
        if (!(error instanceof FormSentError)) throw error;
        return redirect(c, `${organizationActionHref(idOf(c), "api-keys")}?done=created`);
      }
    },
  });

  mountConfirmation(app, parts, {
    path: `${path}/:keyId/revoke`,
    async show(c, asked) {
      const organization = await resolveOrganization(services, idOf(c));
      const apiKey = await getApiKey(services, { idText: idOf(c), id: keyIdOf(c) });
      return revokeOrganizationKeyPage({ ...asked, organization, apiKey });
    },
    async act(c, actor) {
      const { id } = await getApiKey(services, { idText: idOf(c), id: keyIdOf(c) });
      await revokeApiKey(services, actor, id);
      return `${organizationActionHref(idOf(c), "api-keys")}?done=revoked`;
    },
  });
}

function listKeys(c: AppContext, { services }: PortalParts) {
  return listApiKeys(services, {
    idText: idOf(c),
    limit: pageItemsDefault,
    cursor: queryOf(c, "cursor"),
  });
}

async function showList(
  c: AppContext,
  parts: PortalParts,
  { actor, organization, apiKeys, nextCursor, created }:
    & { actor: ConsoleActor; nextCursor: string | null }
    & Pick<OrganizationKeysPageProps, "organization" | "apiKeys" | "created">,
): Promise<Response> {
  const page = organizationKeysPage({
    frame: operatorFrame(parts, actor),
    organization,
    apiKeys,
    nextHref: nextCursor && `${organizationActionHref(organization.id, "api-keys")}?cursor=${nextCursor}`,
    created,
    flash: flashOf(c, {
      revoked: "Key revoked. Requests with it fail.",
      created: "This key was already created. It is shown only once.",
    }),
  });
  return await sendPage(c, page, created === null ? 200 : 201);
}

function keyIdOf(c: AppContext): string {
  return c.req.param("keyId") ?? "";
}
