// The pages of one API key: its page, and the forms that edit it, set its budget and revoke it.
import type { ApiKey } from "../../domain/keys/api_key.ts";
import { budgetLimitsMax } from "../../domain/limits.ts";
import { type Access, listAuditEvents, may, requirePermission } from "../../services/access/mod.ts";
import { changeApiKey, getApiKey, getApiKeyLineage, revokeApiKey } from "../../services/keys/mod.ts";
import { readLastRequest, readLimits, readProductNames, readUsage } from "../../services/meter/mod.ts";
import { readPlan } from "../../services/people/mod.ts";
import { budgetPage, editApiKeyPage, revokeApiKeyPage } from "../../views/keys/api_key_forms.tsx";
import { apiKeyPage } from "../../views/keys/api_key_page.tsx";
import { expiryValue } from "../../views/components/expiry_field.tsx";
import { apiKeyHref } from "../../views/components/key_name.tsx";
import type { App } from "../env.ts";
import { changeApiKeySchema } from "../schemas/api_keys.ts";
import { check } from "../schemas/check.ts";
import { expiryOf } from "./expiry.ts";
import { flashOf, queryOf, type Viewer } from "./form.ts";
import { inTime } from "./in_time.ts";
import { checkedKey, choiceOf, keyIdOf, typedChoice } from "./key_form.ts";
import { limitInput, limitsOf, typedLimits } from "./limit_input.ts";
import { nearestFirst } from "./meter/usage.ts";
import { firstRequestOf, keyReport } from "./new_api_key.ts";
import { mountFormPage, mountPage, type Pages } from "./noun_pages.ts";
import { type PortalParts, redirect } from "./page.ts";
import { organizationNounPages } from "./viewer.ts";

const path = "/api-keys/:keyId";
const latestEventsMax = 5;

export function apiKeyPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const pages = organizationNounPages(app, parts, {
    place: "api-keys",
    path: "/api-keys",
    label: "API keys",
  });
  mountPage(pages, path, async (c, { actor: { access }, frame }) => {
    const { current: apiKey, generations } = await getApiKeyLineage(services, access, keyIdOf(c));
    const [report, limits, { plan }, lastRequest, events] = await Promise.all([
      keyReport(parts, access, { apiKeyId: apiKey.id, metric: queryOf(c, "metric") ?? null }),
      inTime((signal) => readLimits(services, access, { apiKeyId: apiKey.id, signal })),
      readPlan(services, access),
      readLastRequest(services, generations),
      may(access, "audit.read") ? latestEvents(parts, access, generations) : null,
    ]);
    return apiKeyPage({
      frame,
      apiKey,
      generations,
      report,
      limits: limits && nearestFirst(limits),
      plan: plan.name,
      lastRequest,
      firstRequest: await firstRequestOf(parts, apiKey),
      events,
      catalogue: report?.catalogue ?? await readProductNames(services),
      flash: flashOf(c, {
        budget: "The budget has been saved.",
        changed: `Changes to “${apiKey.name}” have been saved.`,
      }),
    });
  });
  mountBudget(pages, parts);
  mountEdit(pages, parts);
  mountRevoke(pages, parts);
}

async function latestEvents({ services }: PortalParts, access: Access, keys: readonly ApiKey[]) {
  const { events } = await listAuditEvents(services, access, {
    targetIds: keys.map(({ id }) => id),
    limit: latestEventsMax,
    cursor: undefined,
  });
  return events;
}

function mountBudget(pages: Pages<Viewer>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${path}/budget`,
    async show(c, { fields, ...form }, { access, frame }) {
      requirePermission(access, "apiKeys.manageAll");
      const apiKey = await getApiKey(services, access, keyIdOf(c));
      if (apiKey.status !== "active") return redirect(c, apiKeyHref(frame.base, apiKey.id));
      // The form does without suggestions if they are not available.
      const names = await inTime((signal) =>
        readUsage(services, access, { job: "readUsageNames", query: {}, signal })
      );
      // The fields are named as in other forms with limits.
      const named = Object.entries(fields).map(([name, error]) => [name.replace(/^budget/, "limits"), error]);
      return budgetPage({ ...form, fields: Object.fromEntries(named) }, {
        apiKey,
        limits: form.input ? limitInput(form.input, budgetLimitsMax) : typedLimits(apiKey.budget),
        ...names ?? { productSlugs: [], metrics: [] },
        catalogue: await readProductNames(services),
      });
    },
    async submit(c, { access, frame }, input) {
      const id = keyIdOf(c);
      const typed = { budget: limitsOf(limitInput(input, budgetLimitsMax)) };
      await changeApiKey(services, access, { id, ...check(changeApiKeySchema, typed, "body") });
      return `${apiKeyHref(frame.base, id)}?done=budget`;
    },
  });
}

function mountEdit(pages: Pages<Viewer>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${path}/edit`,
    async show(c, form, { access }) {
      const { input } = form;
      const apiKey = await getApiKey(services, access, keyIdOf(c));
      const expiry = expiryValue(input ?? { expires: apiKey.expiresAt === null ? "never" : "keep" });
      const permissions = input ? typedChoice(input) : choiceOf(apiKey.permissions);
      return editApiKeyPage(form, { apiKey, permissions, expiry });
    },
    async submit(c, { access, frame }, input) {
      const id = keyIdOf(c);
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
      const apiKey = await getApiKey(services, access, keyIdOf(c));
      if (apiKey.status === "revoked") return redirect(c, apiKeyHref(frame.base, apiKey.id));
      const [report, { generations }] = await Promise.all([
        keyReport(parts, access, { apiKeyId: apiKey.id, metric: null }),
        getApiKeyLineage(services, access, apiKey.id),
      ]);
      return revokeApiKeyPage(form, { apiKey, report, isRotated: generations.length > 1 });
    },
    async submit(c, { access, frame }) {
      const { id } = await revokeApiKey(services, access, keyIdOf(c));
      return `${frame.base}/api-keys?done=revoked&id=${id}`;
    },
  });
}
