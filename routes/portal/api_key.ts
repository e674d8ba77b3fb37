// The pages of one API key: what it is and does, and the forms that edit and revoke it.
import type { SessionActor } from "../../domain/actor.ts";
import type { ApiKey } from "../../domain/api_key.ts";
import { hasPermission } from "../../domain/permissions.ts";
import { getApiKeyLineage } from "../../services/api_key_lineage.ts";
import { changeApiKey, getApiKey, revokeApiKey } from "../../services/api_keys.ts";
import { activeAccess } from "../../services/access.ts";
import { listAuditEvents } from "../../services/audit.ts";
import { readLastRequest } from "../../services/meter/last_requests.ts";
import { readLimits } from "../../services/meter/limits.ts";
import { editApiKeyPage, revokeApiKeyPage } from "../../views/api_keys/api_key.tsx";
import { apiKeyPage } from "../../views/api_keys/api_key_page.tsx";
import { expiryValue } from "../../views/components/expiry_field.tsx";
import { apiKeyHref } from "../../views/components/key_name.tsx";
import type { App, AppContext } from "../env.ts";
import { portalBudgetRoutes } from "./api_key_budget.ts";
import { expiryOf } from "./expiry.ts";
import { firstRequestOf, keyReport } from "./new_api_key.ts";
import { flashOf, mountForm, queryOf } from "./form.ts";
import { inTime } from "./in_time.ts";
import { checkedKey, choiceOf, typedChoice } from "./key_form.ts";
import { nearestFirst } from "./meter/usage.ts";
import { memberRoutes, portalFrame, type PortalParts, redirect, sendPage } from "./page.ts";

const path = "/portal/api-keys";
const latestEventsMax = 5;

/** Mounts `/portal/api-keys/:id` and the pages below it. */
export function portalApiKeyRoutes(app: App, parts: PortalParts): void {
  keyRoutes(app, parts);
  portalBudgetRoutes(app, parts);
  editRoutes(app, parts);
  revokeRoutes(app, parts);
}

function keyRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  memberRoutes(app, parts).get(`${path}/:id`, async (c, session) => {
    const { current: apiKey, generations } = await getApiKeyLineage(services, session, idOf(c));
    const { role } = session.organization;
    const [report, limits, lastRequest, events] = await Promise.all([
      keyReport(parts, session, { apiKeyId: apiKey.id, metric: queryOf(c, "metric") ?? null }),
      inTime((signal) => readLimits(services, activeAccess(session), { apiKeyId: apiKey.id, signal })),
      readLastRequest(services, generations),
      hasPermission(role, "audit.read") ? latestEvents(parts, session, generations) : null,
    ]);
    const page = apiKeyPage({
      frame: portalFrame(parts, session),
      apiKey,
      isCreatedByYou: apiKey.createdBy?.id === session.user.id,
      generations,
      report,
      limits: limits && nearestFirst(limits),
      lastRequest,
      firstRequest: await firstRequestOf(parts, apiKey),
      events,
      canSetBudget: hasPermission(role, "apiKeys.manageAll"),
      flash: flashOf(c, {
        budget: "The budget has been saved.",
        changed: `Changes to “${apiKey.name}” have been saved.`,
      }),
    });
    return await sendPage(c, page);
  });
}

async function latestEvents({ services }: PortalParts, session: SessionActor, keys: readonly ApiKey[]) {
  const { events } = await listAuditEvents(services, activeAccess(session), {
    targetIds: keys.map(({ id }) => id),
    limit: latestEventsMax,
    cursor: undefined,
  });
  return events;
}

function editRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(memberRoutes(app, parts), {
    path: `${path}/:id/edit`,
    async show(c, session, { input, fields, message, status }) {
      const apiKey = await getApiKey(services, session, idOf(c));
      const frame = portalFrame(parts, session);
      const expiry = expiryValue(input ?? { expires: apiKey.expiresAt === null ? "never" : "keep" });
      const { name, permissions } = input === undefined
        ? { name: apiKey.name, permissions: choiceOf(apiKey.permissions) }
        : { name: input["name"] ?? "", permissions: typedChoice(input) };
      const page = editApiKeyPage({ frame, apiKey, name, permissions, expiry, fields, message });
      return await sendPage(c, page, status);
    },
    async submit(c, session, input) {
      const { id } = await getApiKey(services, session, idOf(c));
      const { expires = "keep" } = input;
      const expiresAt = expires === "keep" ? undefined : expiryOf(input, services.clock());
      await changeApiKey(services, session, { id, ...checkedKey(input), expiresAt });
      return redirect(c, `${apiKeyHref(id)}?done=changed`);
    },
  });
}

function revokeRoutes(app: App, parts: PortalParts): void {
  const { get, post } = memberRoutes(app, parts);
  const { services } = parts;

  get(`${path}/:id/revoke`, async (c, session) => {
    const apiKey = await getApiKey(services, session, idOf(c));
    if (apiKey.status === "revoked") return redirect(c, apiKeyHref(apiKey.id));
    const report = await keyReport(parts, session, { apiKeyId: apiKey.id, metric: null });
    return await sendPage(
      c,
      revokeApiKeyPage({ frame: portalFrame(parts, session), apiKey, today: report?.chart ?? null }),
    );
  });
  post(`${path}/:id/revoke`, async (c, session) => {
    const { id } = await revokeApiKey(services, session, idOf(c));
    return redirect(c, `${path}?done=revoked&id=${id}`);
  });
}

function idOf(c: AppContext): string {
  return c.req.param("id") ?? "";
}
