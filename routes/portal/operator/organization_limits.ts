// The console's forms that give an organization another plan, or limits of its own.
import { validationError } from "../../../domain/errors.ts";
import { planLimitsMax, plansMax } from "../../../domain/limits.ts";
import { groupDigits } from "../../../domain/number_text.ts";
import type { OperatedOrganization } from "../../../domain/operator/organization.ts";
import { effectiveLimits, notSearched } from "../../../domain/operator/lowered_limits.ts";
import { eachNumber, type Plan } from "../../../domain/operator/plan.ts";
import { changeOrganization, getOrganization } from "../../../services/operator/organizations.ts";
import { organizationLimitsBelowUse } from "../../../services/operator/limits_below_use.ts";
import { getPlan, listPlans } from "../../../services/operator/plans.ts";
import { organizationHref, organizationsHref } from "../../../views/operator/links.ts";
import {
  confirmOrganizationLimitsPage,
  confirmOrganizationPlanPage,
  organizationLimitsPage,
  organizationPlanPage,
  type OverridesInput,
} from "../../../views/operator/organization_limit_forms.tsx";
import { valueChanges } from "../../../views/operator/plan_change.tsx";
import { timezoneNames } from "../../../views/text/zone.ts";
import type { App } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { changeOrganizationSchema } from "../../schemas/operator_organizations.ts";
import { mountForm, queryOf } from "../form.ts";
import { inTime } from "../in_time.ts";
import { limitInput, limitsOf, numberOf, typedLimits } from "../limit_input.ts";
import { type PortalParts, redirect, sendPage } from "../page.ts";
import { idOf } from "./organization.ts";
import { operatorForms, operatorFrame } from "./page.ts";
import { catalogueSlugs } from "./limit_suggestions.ts";

const path = `${organizationsHref}/:id`;
const timezones = timezoneNames();

/** Mounts `/operator/organizations/:id/plan` and `/limits`. */
export function operatorOrganizationLimitForms(app: App, parts: PortalParts): void {
  planRoutes(app, parts);
  limitRoutes(app, parts);
}

function planRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(operatorForms(app, parts), {
    path: `${path}/plan`,
    async show(c, actor, { input, ...state }) {
      const organization = await getOrganization(services, idOf(c));
      const { plans } = await listPlans(services, { limit: plansMax });
      const page = organizationPlanPage({
        frame: operatorFrame(parts, actor),
        organization,
        plans,
        planId: input?.["planId"] ?? organization.planId,
        ...state,
      });
      return await sendPage(c, page, state.status);
    },
    async submit(c, actor, input) {
      const { planId } = check(changeOrganizationSchema, { planId: input["planId"] }, "body");
      const organization = await getOrganization(services, idOf(c));
      const { id: idText, planId: from } = organization;
      if (planId !== undefined && planId !== from && input["confirmed"] === undefined) {
        const { plans } = await listPlans(services, { limit: plansMax });
        const newPlan = plans.find(({ id }) => id === planId);
        if (newPlan === undefined) throw validationError([{ path: "planId", message: "Choose a plan." }]);
        const plan = await getPlan(services, from);
        const below = await inTime((signal) =>
          organizationLimitsBelowUse(services, actor, { idText, planId, signal })
        ) ?? notSearched;
        const changes = valueChanges(
          effectiveLimits(plan, organization.overrides),
          effectiveLimits(newPlan, organization.overrides),
        );
        const frame = operatorFrame(parts, actor);
        const page = confirmOrganizationPlanPage({
          frame,
          organization,
          plan,
          newPlan,
          changes,
          below,
          input: { planId },
        });
        return await sendPage(c, page);
      }
      await changeOrganization(services, actor, { idText, planId });
      return redirect(c, `${organizationHref(idText)}?done=saved`);
    },
  });
}

function limitRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(operatorForms(app, parts), {
    path: `${path}/limits`,
    async show(c, actor, { input, ...state }) {
      const organization = await getOrganization(services, idOf(c));
      const plan = await getPlan(services, organization.planId);
      const page = organizationLimitsPage({
        frame: operatorFrame(parts, actor),
        organization,
        plan,
        input: input === undefined
          ? typed(organization, plan.limits.filter(({ id }) => id === queryOf(c, "limit")))
          : overridesInput(input),
        ...await catalogueSlugs(parts),
        timezones,
        ...state,
      });
      return await sendPage(c, page, state.status);
    },
    async submit(c, actor, form) {
      const { timezone, limits, ...numbers } = overridesInput(form);
      const overrides = {
        ...eachNumber((name) => numbers[name].trim() === "" ? null : numberOf(numbers[name])),
        limits: limitsOf(limits),
      };
      const change = check(changeOrganizationSchema, { timezone, overrides }, "body");
      const organization = await getOrganization(services, idOf(c));
      const { id: idText } = organization;
      const isConfirmed = form["confirmed"] !== undefined;
      const below = isConfirmed
        ? null
        : await inTime((signal) =>
          organizationLimitsBelowUse(services, actor, { idText, ...change, signal })
        ) ?? notSearched;
      if (below !== null && (below.organizationCount > 0 || !below.isComplete)) {
        const plan = await getPlan(services, organization.planId);
        const after = {
          ...eachNumber((name) => change.overrides?.[name] ?? null),
          limits: change.overrides?.limits ?? [],
        };
        const page = confirmOrganizationLimitsPage({
          frame: operatorFrame(parts, actor),
          organization,
          plan,
          changes: valueChanges(
            effectiveLimits(plan, organization.overrides),
            effectiveLimits(plan, after),
          ),
          below,
          input: form,
        });
        return await sendPage(c, page);
      }
      await changeOrganization(services, actor, { idText, ...change });
      return redirect(c, `${organizationHref(idText)}?done=saved`);
    },
  });
}

function overridesInput(form: Readonly<Record<string, string>>): OverridesInput {
  return {
    ...eachNumber((name) => form[name] ?? ""),
    timezone: form["timezone"] ?? "",
    limits: limitInput(form, planLimitsMax),
  };
}

/** @returns The overrides as they are typed, and limits of the plan to replace. */
function typed({ overrides, timezone }: OperatedOrganization, replaced: Plan["limits"]): OverridesInput {
  return {
    ...eachNumber((name) => overrides[name] === null ? "" : groupDigits(overrides[name])),
    timezone,
    limits: typedLimits([...overrides.limits, ...replaced]),
  };
}
