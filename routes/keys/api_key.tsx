// One API key: the forms that edit it, set its budget and revoke it. Those that disable it are in api_key_danger.tsx. Its page is in api_key_page.tsx.
import { operatorsKeyPermission } from "../../domain/keys/key_permissions.ts";
import { apiKeyNameCharactersMax, budgetLimitsMax } from "../../domain/limits.ts";
import { requirePermission } from "../../services/access/mod.ts";
import { changeApiKey, getApiKey, getApiKeyLineage, revokeApiKey } from "../../services/keys/mod.ts";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { ExpiryField, expiryValue } from "../../views/components/expiry_field.tsx";
import { NameField } from "../../views/components/field.tsx";
import { FormPage } from "../../views/components/form_page.tsx";
import { apiKeyHref, managesAllKeys } from "../../views/components/key_name.tsx";
import { LimitFields } from "../../views/components/limit_fields.tsx";
import { KeyAccessFields } from "../../views/keys/key_access_fields.tsx";
import { PermissionFields } from "../../views/keys/permission_fields.tsx";
import { exactTime } from "../../views/text/time.ts";
import type { App } from "../env.ts";
import { aboutKey } from "./about_key.tsx";
import { mountEnabling, revokeWarning } from "./api_key_danger.tsx";
import { apiKeyReferencePage } from "./api_key_reference.tsx";
import { apiKeyPage, readKeyPage } from "./api_key_page.tsx";
import { expiryOf } from "../portal/expiry.ts";
import type { Viewer } from "../portal/form.ts";
import { accessErrors, accessOf, checkedKey, choiceOf, typedAccess, typedChoice } from "./key_form.ts";
import { budgetRows, checkBudget } from "./key_budget.ts";
import { typedPace } from "../meter/limit_pace.tsx";
import { keyReport } from "./key_report.ts";
import { mountFormPage, mountPage, type Pages, paramOf } from "../portal/noun_pages.ts";
import { type PortalParts, redirect } from "../portal/page.ts";
import { organizationNounPages } from "../portal/viewer.ts";
import { changeApiKeySchema } from "./schemas/api_keys.ts";
import { check } from "../schemas/check.ts";

const path = "/api-keys/:keyId";

export function apiKeyPages(app: App, parts: PortalParts): void {
  const pages = organizationNounPages(app, parts, {
    place: "api-keys",
    path: "/api-keys",
    label: "API keys",
  });
  mountPage(pages, path, async (c, { actor }) => apiKeyPage(await readKeyPage(c, parts, actor)));
  mountBudget(pages, parts);
  mountEdit(pages, parts);
  mountEnabling(pages, path, parts);
  mountRevoke(pages, parts);
  apiKeyReferencePage(app, parts);
}

function mountBudget(pages: Pages<Viewer>, parts: PortalParts): void {
  const { services } = parts;
  mountFormPage(pages, {
    path: `${path}/budget`,
    async show(c, { fields, ...form }, { access, frame }) {
      requirePermission(access, "apiKeys.manageAll");
      const apiKey = await getApiKey(services, access, paramOf(c, "keyId"));
      if (apiKey.status !== "active") return redirect(c, apiKeyHref(frame.base, apiKey.id));
      const typed = await typedPace(c, parts, access, apiKey.id);
      if (typed !== null) return typed;
      const { input, action } = form;
      const pace = { apiKey: apiKey.id, href: action };
      const rows = await budgetRows(parts, access, { input, fields, budget: apiKey.budget, pace });
      const whose = frame.viewed === null ? "your" : "the";
      return (
        <FormPage
          {...form}
          title="Budget"
          heading="Budget of “{name}”"
          name={apiKey.name}
          text={`Limits what this key can use, in addition to ${whose} organization's limits. After a rotation, the old and the new key share the budget.`}
          back={{ href: apiKeyHref(frame.base, apiKey.id), label: apiKey.name }}
          error={form.error ?? rows.fields["limits"]}
          submit="Save budget"
        >
          <p class="muted small">
            {`Up to ${budgetLimitsMax} limits, none above ${whose} organization's. Windows follow the calendar in its time zone. ` +
              "Rows without a quantity are removed."}
          </p>
          <LimitFields {...rows} />
        </FormPage>
      );
    },
    async submit(c, { access, frame }, input) {
      const id = paramOf(c, "keyId");
      const change = await checkBudget(
        parts,
        input,
        (budget = []) => check(changeApiKeySchema, { budget }, "body"),
      );
      await changeApiKey(services, access, { id, ...change });
      return `${apiKeyHref(frame.base, id)}?done=budget`;
    },
  });
}

function mountEdit(pages: Pages<Viewer>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${path}/edit`,
    async show(c, { fields, field, input, ...form }, { access, frame }) {
      const apiKey = await getApiKey(services, access, paramOf(c, "keyId"));
      const { status, expiresAt } = apiKey;
      return (
        <ConfirmPage
          {...form}
          {...aboutKey(form, apiKey)}
          title="Edit key"
          heading="Edit “{name}”"
          text="The key itself stays the same. Changes take effect immediately."
          submit="Save changes"
          tone="primary"
        >
          <NameField
            label="Name"
            {...field("name", apiKey.name)}
            charactersMax={apiKeyNameCharactersMax}
            autofocus
          />
          {status === "active" && (
            <ExpiryField
              value={expiryValue(input ?? { expires: expiresAt === null ? "never" : "keep" })}
              fields={fields}
              now={frame.now}
              kept={expiresAt === null ? null : exactTime(Date.parse(expiresAt))}
            />
          )}
          <PermissionFields
            chosen={input ? typedChoice(input) : choiceOf(apiKey.permissions)}
            error={fields["permissions"]}
            hasVoid={frame.viewed !== null || apiKey.permissions.includes(operatorsKeyPermission)}
          />
          {managesAllKeys(frame) && (
            <KeyAccessFields
              values={input ? typedAccess(input) : accessOf(apiKey)}
              errors={accessErrors(fields)}
            />
          )}
        </ConfirmPage>
      );
    },
    async submit(c, { access, frame }, input) {
      const id = paramOf(c, "keyId");
      const { expires = "keep" } = input;
      const expiresAt = () => expires === "keep" ? undefined : expiryOf(input, services.clock());
      const key = await checkedKey(input, {}, expiresAt);
      await changeApiKey(services, access, { id, ...key, expiresAt: expiresAt() });
      return `${apiKeyHref(frame.base, id)}?done=changed`;
    },
  });
}

function mountRevoke(pages: Pages<Viewer>, parts: PortalParts): void {
  const { services } = parts;
  mountFormPage(pages, {
    path: `${path}/revoke`,
    async show(c, form, { access, frame }) {
      const apiKey = await getApiKey(services, access, paramOf(c, "keyId"));
      if (apiKey.status === "revoked") return redirect(c, apiKeyHref(frame.base, apiKey.id));
      const [report, { generations }] = await Promise.all([
        keyReport(parts, access, apiKey.id),
        getApiKeyLineage(services, access, apiKey.id),
      ]);
      const use = { report, isRotated: generations.length > 1, now: frame.now };
      return (
        <ConfirmPage
          {...form}
          {...aboutKey(form, apiKey, report?.lastUsageAt)}
          title="Revoke key"
          heading="Revoke “{name}”?"
          text={revokeWarning(apiKey, use)}
        />
      );
    },
    async submit(c, { access, frame }) {
      const { id } = await revokeApiKey(services, access, paramOf(c, "keyId"));
      return `${frame.base}/api-keys?done=revoked&id=${id}`;
    },
  });
}
