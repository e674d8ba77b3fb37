// What operators keep about an API key: its external id and metadata. Members neither see nor set them.
import type { ApiKey } from "../../domain/keys/api_key.ts";
import { externalIdCharactersMax } from "../../domain/limits.ts";
import { type OperatorAccess, operatorAccess } from "../../services/access/mod.ts";
import { changeApiKey, getApiKey } from "../../services/keys/mod.ts";
import { Card } from "../../views/components/card.tsx";
import { TextField } from "../../views/components/field.tsx";
import { FormPage } from "../../views/components/form_page.tsx";
import { organizationHref } from "../../views/components/links.ts";
import { apiKeyHref } from "../../views/components/key_name.tsx";
import type { App, AppContext } from "../env.ts";
import {
  metadataChange,
  MetadataFields,
  metadataRows,
  requireDistinctKeys,
  typedMetadata,
} from "../portal/metadata_form.tsx";
import { mountFormPage, paramOf, rowFields, withInput } from "../portal/noun_pages.ts";
import { type ConsoleActor, consolePages } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import { check, checkTogether } from "../schemas/check.ts";
import { changeOperatedApiKeySchema } from "./schemas/api_keys.ts";

/** Mounts the form in the console. */
export function apiKeyReferencePage(app: App, parts: PortalParts): void {
  const { services } = parts;
  const accessOf = (c: AppContext, actor: ConsoleActor) => operatorAccess(services, actor, paramOf(c, "id"));
  const hrefOf = (access: OperatorAccess, id: string) =>
    apiKeyHref(organizationHref(access.organizationId), id);
  mountFormPage(consolePages(app, parts, "operator/organizations"), {
    path: "/operator/organizations/:id/api-keys/:keyId/reference",
    async show(c, form, actor) {
      const access = await accessOf(c, actor);
      const apiKey = await getApiKey(services, access, paramOf(c, "keyId"));
      const rows = form.input === undefined ? metadataRows(apiKey.metadata ?? {}) : typedMetadata(form.input);
      const externalId = form.input?.["externalId"] ?? apiKey.externalId ?? "";
      const { field } = withInput(form, { externalId, ...rowFields("metadata", rows) });
      return (
        <FormPage
          {...form}
          title="External ID and metadata"
          heading="External ID and metadata of “{name}”"
          name={apiKey.name}
          text="Verifications report both to your products. Members don't see them."
          error={form.error ?? form.fields["metadata"]}
          submit="Save"
          back={{ href: hrefOf(access, apiKey.id), label: apiKey.name }}
          more={[<MetadataFields rows={rows} field={field} fields={form.fields} />]}
        >
          <TextField
            label="External ID"
            {...field("externalId")}
            hint="Your own ID for this key. Other keys can have the same."
            maxlength={externalIdCharactersMax}
          />
        </FormPage>
      );
    },
    async submit(c, actor, input) {
      const access = await accessOf(c, actor);
      const { id, metadata = {} } = await getApiKey(services, access, paramOf(c, "keyId"));
      const rows = typedMetadata(input);
      const externalId = (input["externalId"] ?? "").trim() || null;
      const change = () =>
        check(changeOperatedApiKeySchema, { externalId, metadata: metadataChange(metadata, rows) }, "body");
      await checkTogether(() => requireDistinctKeys(rows), change);
      await changeApiKey(services, access, { id, ...change() });
      return `${hrefOf(access, id)}?done=changed`;
    },
  });
}

/** Shows both on the page of a key, to operators. */
export function KeyReference({ apiKey, href }: { apiKey: ApiKey; href: string | null }) {
  const { externalId, metadata } = apiKey;
  if (externalId === undefined || metadata === undefined) return null;
  return (
    <Card title="For operators" aside={href && <a href={href}>Change</a>}>
      <dl class="details">
        <dt>External ID</dt>
        <dd>{externalId === null ? "Not set" : <bdi>{externalId}</bdi>}</dd>
        {Object.entries(metadata).map(([key, value]) => (
          <>
            <dt>
              <bdi>{key}</bdi>
            </dt>
            <dd>
              <bdi>{value}</bdi>
            </dd>
          </>
        ))}
      </dl>
      <p class="muted tiny">Members don't see this.</p>
    </Card>
  );
}
