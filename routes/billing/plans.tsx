// Plans: their API and their pages in the console. The form is in plan_form.tsx.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { plansMax } from "../../domain/limits.ts";
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import type { BudgetLimit, UsageLimit } from "../../domain/meter/usage_limit.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { type Plan, planNumberNames } from "../../domain/billing/plan.ts";
import { readProductNames } from "../../services/meter/mod.ts";
import { changePlan, createPlan, deletePlan, getPlan, listPlans } from "../../services/billing/mod.ts";
import { ActionsCard } from "../../views/components/actions_card.tsx";
import { Badge } from "../../views/components/badge.tsx";
import { ButtonLink } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { EmptyState } from "../../views/components/empty_state.tsx";
import { Facts } from "../../views/components/facts.tsx";
import { ItemTable } from "../../views/components/item_table.tsx";
import { ListPage } from "../../views/components/list_page.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { DayTime } from "../../views/components/relative_time.tsx";
import { LinkedName, Name } from "../../views/components/table.tsx";
import { type Place, type PortalFrame, PortalPage } from "../../views/layout.tsx";
import { organizationsHref, planHref, plansHref } from "../../views/components/links.ts";
import { listHref } from "../../views/components/list_filters.tsx";
import { numberText, numberWords } from "../../views/text/plan.ts";
import { limitName, limitQuantity, modeWords, notifyText } from "../../views/text/limit.ts";
import { nounRoutes } from "../api/noun_routes.ts";
import { operatorRoutes } from "../api/operator_routes.ts";
import type { App, AppEnv, AppParts } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, mountPage, paramOf } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import { idParam } from "../schemas/common.ts";
import { changePlanSchema, createPlanSchema, planSchema } from "./schemas/plans.ts";
import { FeatureList } from "../../views/components/feature_list.tsx";
import { planFormPages } from "./plan_form.tsx";

export function planRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = operatorRoutes(app, parts, { read: "organizations:read", write: "organizations:write" });
  const routes = nounRoutes(route, {
    path: "/api/operator/plans",
    one: "plan",
    many: "plans",
    schema: planSchema,
    id: "{id}",
    params: z.object({ id: idParam("plan", "The plan's id.") }),
  });
  routes.list(
    { operationId: "listPlans", summary: "List plans", description: "The oldest first." },
    ({ query }) => listPlans(services, query),
  );
  routes.create({
    operationId: "createPlan",
    summary: "Create a plan",
    body: createPlanSchema,
    errors: ["plan_taken", "limit_reached"],
  }, ({ body }, actor) => createPlan(services, actor, body));
  routes.get(
    { operationId: "getPlan", summary: "Get a plan" },
    ({ params: { id } }) => getPlan(services, id),
  );
  routes.change({
    operationId: "changePlan",
    summary: "Change a plan",
    description:
      "Takes effect on the next request of every organization that has the plan. `limits` replaces the whole list; what " +
      "organizations have used in the current windows counts against new and changed limits.",
    body: changePlanSchema,
    errors: ["plan_taken"],
  }, ({ params: { id }, body }, actor) => changePlan(services, actor, { id, ...body }));
  routes.delete({
    operationId: "deletePlan",
    summary: "Delete a plan",
    description: "The default plan and plans that organizations have can't be deleted.",
    errors: ["plan_in_use"],
  }, ({ params: { id } }, actor) => deletePlan(services, actor, id));
}

const flashes = {
  created: "Plan created.",
  saved: "Changes saved. They apply from the next request on.",
  default: "This is the default plan now.",
  deleted: "Plan deleted.",
};

export function planPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const pages = consolePages(app, parts, "operator/plans");

  mountPage(pages, plansHref, async (c, page) => {
    const { plans } = await listPlans(services, { limit: plansMax });
    return (
      <ListPage
        {...page}
        title="Plans"
        text="How much organizations can use. New organizations get the default plan."
        flash={flashOf(c, flashes)}
        add={{ href: `${plansHref}/new`, label: "Create plan" }}
        card="Oldest first"
        empty={null}
        links={[]}
      >
        <PlanTable plans={plans} catalogue={await readProductNames(services)} />
      </ListPage>
    );
  });
  planFormPages(pages, parts);
  mountPage(pages, `${plansHref}/:id`, async (c, { actor: _actor, ...page }) => {
    const plan = await getPlan(services, paramOf(c, "id"));
    const catalogue = await readProductNames(services);
    return planPage({ ...page, plan, catalogue, flash: flashOf(c, flashes) });
  });

  mountFormPage(pages, {
    path: `${plansHref}/:id/default`,
    show: async (c, form) => (
      <ConfirmPage
        {...form}
        {...about(await getPlan(services, paramOf(c, "id")))}
        title="Make default"
        heading="Make “{name}” the default plan?"
        text={defaultText}
        tone="primary"
      />
    ),
    async submit(c, actor) {
      const { id } = await changePlan(services, actor, { id: paramOf(c, "id"), isDefault: true });
      return `${planHref(id)}?done=default`;
    },
  });

  mountFormPage(pages, {
    path: `${plansHref}/:id/delete`,
    show: async (c, form) => (
      <ConfirmPage
        {...form}
        {...about(await getPlan(services, paramOf(c, "id")))}
        title="Delete plan"
        heading="Delete “{name}”?"
        text="The plan and its limits are removed. This can't be undone."
      />
    ),
    async submit(c, actor) {
      await deletePlan(services, actor, paramOf(c, "id"));
      return `${plansHref}?done=deleted`;
    },
  });
}

function about({ id, name, organizationCount, limits }: Plan) {
  const facts = [
    { label: "Organizations", value: groupDigits(organizationCount) },
    { label: "Usage limits", value: countOf(limits.length, "limit") },
  ];
  return { name, facts, back: { href: planHref(id), label: name } };
}

const limitsNamedMax = 2;

function PlanTable({ plans, catalogue }: { plans: readonly Plan[]; catalogue: Catalogue }) {
  return (
    <ItemTable
      label="Plans"
      items={plans}
      columns={[
        { title: "Plan", in: "title", cell: (plan) => <PlanName {...plan} /> },
        { title: "Organizations", isNumber: true, cell: (plan) => groupDigits(plan.organizationCount) },
        { title: "API keys", isNumber: true, cell: (plan) => groupDigits(plan.apiKeysMax) },
        { title: "Members", isNumber: true, cell: (plan) => groupDigits(plan.membersMax) },
        {
          title: "Requests per second",
          isNumber: true,
          cell: (plan) => numberText("requestsPerSecond", plan.requestsPerSecond),
        },
        { title: "Usage limits", cell: ({ limits }) => <LimitNames limits={limits} catalogue={catalogue} /> },
      ]}
      actions={({ id, name }) => [{ label: "Edit", href: planHref(id, "edit"), about: name }]}
    />
  );
}

function PlanName({ id, name, isDefault }: Plan) {
  return (
    <div class="address">
      <LinkedName href={planHref(id)} name={name} />
      {isDefault && <Badge tone="on">Default</Badge>}
    </div>
  );
}

function LimitNames({ limits, catalogue }: { limits: readonly UsageLimit[]; catalogue: Catalogue }) {
  return (
    <div>
      {limits.slice(0, limitsNamedMax).map((limit) => (
        <div class="small">{`${limitName(limit, catalogue)}: ${limitQuantity(limit, catalogue)}`}</div>
      ))}
      {limits.length > limitsNamedMax && (
        <div class="muted tiny">{`${limits.length - limitsNamedMax} more`}</div>
      )}
      {limits.length === 0 && "None"}
    </div>
  );
}

function planPage({ frame, place, plan, catalogue, flash }: {
  frame: PortalFrame;
  place: Place;
  plan: Plan;
  catalogue: Catalogue;
  flash: string | null;
}) {
  const { id, name, isDefault, limits, defaultBudget } = plan;
  return (
    <PortalPage title={name} frame={frame} place={place}>
      <PageHead
        back={{ href: plansHref, label: "Plans" }}
        title="{name}"
        name={name}
        text={isDefault && <Badge tone="on">Default</Badge>}
      >
        <ButtonLink href={planHref(id, "edit")}>Edit</ButtonLink>
      </PageHead>
      <Notice tone="done" text={flash} />
      <div class="card">
        <Facts
          facts={[
            ...planNumberNames.map((number) => ({
              label: numberWords[number],
              value: numberText(number, plan[number]),
            })),
            {
              label: "Organizations",
              value: (
                <a href={listHref(organizationsHref, { plan: id })}>{groupDigits(plan.organizationCount)}</a>
              ),
            },
            {
              label: "Features",
              value: <FeatureList features={plan.features} featureNames={plan.featureNames} withSlugs />,
            },
            { label: "Created", value: <DayTime at={plan.createdAt} now={frame.now} /> },
            { label: "ID", value: <code class="pick">{id}</code> },
          ]}
        />
      </div>
      <Card title="Usage limits" flush>
        {limits.length === 0
          ? (
            <EmptyState
              title="No usage limits"
              text="Organizations with this plan can record any amount, unless they have limits of their own."
            />
          )
          : <LimitTable label="Usage limits" limits={limits} catalogue={catalogue} />}
      </Card>
      {defaultBudget.length > 0 && (
        <Card title="Default budget" flush>
          <LimitTable label="Default budget" limits={defaultBudget} catalogue={catalogue} />
        </Card>
      )}
      {!isDefault && <PlanActions plan={plan} />}
    </PortalPage>
  );
}

function LimitTable({ label, limits, catalogue }: {
  label: string;
  limits: readonly BudgetLimit[];
  catalogue: Catalogue;
}) {
  return (
    <ItemTable
      label={label}
      items={limits}
      columns={[
        { title: "Limit", in: "title", cell: (limit) => <Name text={limitName(limit, catalogue)} /> },
        { title: "Quantity", isNumber: true, cell: (limit) => limitQuantity(limit, catalogue) },
        { title: "When exceeded", cell: ({ mode }) => <span>{modeWords[mode]}</span> },
        { title: "Notify at", cell: ({ notifyAt }) => <span>{notifyText(notifyAt)}</span> },
      ]}
    />
  );
}

const defaultText = "New organizations get this plan. Existing organizations keep theirs.";

function PlanActions({ plan: { id, organizationCount } }: { plan: Plan }) {
  const isUnused = organizationCount === 0;
  return (
    <ActionsCard
      title="More actions"
      actions={[
        { title: "Make default", text: defaultText, href: planHref(id, "default"), label: "Make default" },
        {
          title: "Delete",
          text: isUnused
            ? "No organization has this plan. This can't be undone."
            : "You can delete a plan once no organization uses it.",
          href: isUnused ? planHref(id, "delete") : null,
          label: "Delete plan",
          tone: "plain-destroy",
        },
      ]}
    />
  );
}
