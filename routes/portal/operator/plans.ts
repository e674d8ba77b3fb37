// The console's pages of plans.
import { consolePageItemsMax, planLimitsMax, plansMax } from "../../../domain/limits.ts";
import { groupDigits } from "../../../domain/number_text.ts";
import { notSearched } from "../../../domain/operator/lowered_limits.ts";
import { eachNumber, type Plan } from "../../../domain/operator/plan.ts";
import { planLimitsBelowUse } from "../../../services/operator/limits_below_use.ts";
import { listOrganizations } from "../../../services/operator/organizations.ts";
import { changePlan, createPlan, deletePlan, getPlan, listPlans } from "../../../services/operator/plans.ts";
import { planHref, plansHref } from "../../../views/operator/links.ts";
import { listHref } from "../../../views/operator/list_filters.tsx";
import { valueChanges } from "../../../views/operator/plan_change.tsx";
import { changePlanPage, planFormPage, type PlanInput } from "../../../views/operator/plan_form.tsx";
import {
  type ConfirmedPlanAction,
  confirmPlanPage,
  planPage,
  plansPage,
} from "../../../views/operator/plans.tsx";
import type { App, AppContext } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { createPlanSchema } from "../../schemas/plans.ts";
import { flashOf, mountForm } from "../form.ts";
import { inTime } from "../in_time.ts";
import { limitInput, limitsOf, numberOf, typedLimits } from "../limit_input.ts";
import { type PortalParts, redirect, sendPage } from "../page.ts";
import { type ConsoleActor, mountConfirmation, operatorForms, operatorFrame, operatorPages } from "./page.ts";
import { catalogueSlugs } from "./limit_suggestions.ts";

const path = `${plansHref}/:id`;
/** In the form, every field is required. */
const planFormSchema = createPlanSchema.omit({ isDefault: true }).required();
const flashes = {
  created: "Plan created.",
  saved: "Changes saved. They apply from the next request on.",
  default: "This is the default plan now.",
  deleted: "Plan deleted.",
};

/** Mounts `/operator/plans`. */
export function operatorPlanPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  createRoutes(app, parts);
  showRoutes(app, parts);
  editRoutes(app, parts);
  confirmRoutes(app, parts, {
    action: "default",
    async act(actor, id) {
      await changePlan(services, actor, { id, isDefault: true });
      return `${planHref(id)}?done=default`;
    },
  });
  confirmRoutes(app, parts, {
    action: "delete",
    async act(actor, id) {
      await deletePlan(services, actor, id);
      return `${plansHref}?done=deleted`;
    },
  });
}

function showRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  const { get } = operatorPages(app, parts);
  get(plansHref, async (c, actor) => {
    const { plans } = await listPlans(services, { limit: plansMax });
    const page = plansPage({ frame: operatorFrame(parts, actor), plans, flash: flashOf(c, flashes) });
    return await sendPage(c, page);
  });
  get(path, async (c, actor) => {
    const plan = await getPlan(services, idOf(c));
    const { organizations, nextCursor } = await listOrganizations(services, actor, {
      planId: plan.id,
      sort: "createdAt",
      limit: consolePageItemsMax,
      cursor: c.req.query("cursor"),
    });
    const page = planPage({
      frame: operatorFrame(parts, actor),
      plan,
      organizations,
      nextHref: nextCursor && listHref(planHref(plan.id), { cursor: nextCursor }),
      flash: flashOf(c, flashes),
    });
    return await sendPage(c, page);
  });
}

function createRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(operatorForms(app, parts), {
    path: `${plansHref}/new`,
    async show(c, actor, { input, ...state }) {
      const page = planFormPage({
        frame: operatorFrame(parts, actor),
        plan: null,
        // A new plan begins with the values of the default one.
        input: input === undefined ? { ...typed(await defaultPlan(parts)), name: "" } : planInput(input),
        ...await catalogueSlugs(parts),
        ...state,
      });
      return await sendPage(c, page, state.status);
    },
    async submit(c, actor, form) {
      const plan = check(createPlanSchema, valuesOf(planInput(form)), "body");
      const { id } = await createPlan(services, actor, { isDefault: false, ...plan });
      return redirect(c, `${planHref(id)}?done=created`);
    },
  });
}

async function defaultPlan({ services }: PortalParts): Promise<Plan> {
  const { plans } = await listPlans(services, { limit: plansMax });
  const plan = plans.find(({ isDefault }) => isDefault);
  if (plan === undefined) throw new Error("there is no default plan");
  return plan;
}

function editRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(operatorForms(app, parts), {
    path: `${path}/edit`,
    async show(c, actor, { input, ...state }) {
      const plan = await getPlan(services, idOf(c));
      const page = planFormPage({
        frame: operatorFrame(parts, actor),
        plan,
        input: input === undefined ? typed(plan) : planInput(input),
        ...await catalogueSlugs(parts),
        ...state,
      });
      return await sendPage(c, page, state.status);
    },
    async submit(c, actor, form) {
      const before = await getPlan(services, idOf(c));
      const values = check(planFormSchema, valuesOf(planInput(form)), "body");
      const changes = valueChanges(before, { ...before, ...values });
      if (changes.length > 0 && before.organizationCount > 0 && form["confirmed"] === undefined) {
        const below = await inTime((signal) =>
          planLimitsBelowUse(services, actor, { id: before.id, ...values, signal })
        ) ?? notSearched;
        const frame = operatorFrame(parts, actor);
        return await sendPage(c, changePlanPage({ frame, plan: before, changes, below, input: form }));
      }
      await changePlan(services, actor, { id: before.id, ...values });
      return redirect(c, `${planHref(before.id)}?done=saved`);
    },
  });
}

/** @param options `act` returns the address to continue at. */
function confirmRoutes(
  app: App,
  parts: PortalParts,
  { action, act }: {
    action: ConfirmedPlanAction;
    act: (actor: ConsoleActor, id: string) => Promise<string>;
  },
): void {
  mountConfirmation(app, parts, {
    path: `${path}/${action}`,
    show: async (c, asked) =>
      confirmPlanPage({ ...asked, action, plan: await getPlan(parts.services, idOf(c)) }),
    act: (c, actor) => act(actor, idOf(c)),
  });
}

function idOf(c: AppContext): string {
  return c.req.param("id") ?? "";
}

function planInput(form: Readonly<Record<string, string>>): PlanInput {
  const numbers = eachNumber((name) => form[name] ?? "");
  return { name: form["name"] ?? "", ...numbers, limits: limitInput(form, planLimitsMax) };
}

/** @returns A plan as it is typed. */
function typed(plan: Plan): PlanInput {
  return {
    name: plan.name,
    ...eachNumber((name) => groupDigits(plan[name])),
    limits: typedLimits(plan.limits),
  };
}

/** @returns A typed plan as the API takes it. */
function valuesOf({ name, limits, ...numbers }: PlanInput) {
  return { name, ...eachNumber((number) => numberOf(numbers[number])), limits: limitsOf(limits) };
}
