// The form that sets the budget of an API key.
import { forbiddenError } from "../../domain/errors.ts";
import { budgetLimitsMax } from "../../domain/limits.ts";
import { hasPermission } from "../../domain/permissions.ts";
import { changeApiKey, getApiKey } from "../../services/api_keys.ts";
import { activeAccess } from "../../services/access.ts";
import { readUsageNames } from "../../services/meter/usage.ts";
import { apiKeyHref } from "../../views/components/key_name.tsx";
import { budgetPage } from "../../views/api_keys/budget.tsx";
import type { App } from "../env.ts";
import { changeApiKeySchema } from "../schemas/api_keys.ts";
import { check } from "../schemas/check.ts";
import { mountForm } from "./form.ts";
import { inTime } from "./in_time.ts";
import { limitInput, limitsOf, typedLimits } from "./limit_input.ts";
import { type MemberActor, memberRoutes, portalFrame, type PortalParts, redirect, sendPage } from "./page.ts";

/** Mounts `/portal/api-keys/:id/budget`. */
export function portalBudgetRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(memberRoutes(app, parts), {
    path: "/portal/api-keys/:id/budget",
    async show(c, session, { input, fields, message, status }) {
      if (!hasPermission(session.organization.role, "apiKeys.manageAll")) throw forbiddenError();
      const apiKey = await getApiKey(services, session, c.req.param("id") ?? "");
      if (apiKey.status !== "active") return redirect(c, apiKeyHref(apiKey.id));
      const page = budgetPage({
        frame: portalFrame(parts, session),
        apiKey,
        limits: input === undefined ? typedLimits(apiKey.budget) : limitInput(input, budgetLimitsMax),
        ...await namesInUse(parts, session),
        // The fields are named as in other forms with limits.
        fields: Object.fromEntries(
          Object.entries(fields).map(([name, error]) => [name.replace(/^budget/, "limits"), error]),
        ),
        message,
      });
      return await sendPage(c, page, status);
    },
    async submit(c, session, input) {
      const { id } = await getApiKey(services, session, c.req.param("id") ?? "");
      const typed = { budget: limitsOf(limitInput(input, budgetLimitsMax)) };
      await changeApiKey(services, session, { id, ...check(changeApiKeySchema, typed, "body") });
      return redirect(c, `${apiKeyHref(id)}?done=budget`);
    },
  });
}

/** Reads names to suggest, which the form does without if they are not available. */
async function namesInUse({ services }: PortalParts, session: MemberActor) {
  const names = await inTime((signal) => readUsageNames(services, activeAccess(session), signal));
  return names ?? { productSlugs: [], metrics: [] };
}
