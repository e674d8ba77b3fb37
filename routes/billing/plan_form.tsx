// The form that creates or edits a plan.
import { featureCharactersMax, featureName, planFeaturesMax } from "../../domain/feature.ts";
import { joinPath } from "../../domain/json_bounds.ts";
import { budgetLimitsMax, nameCharactersMax, planLimitsMax, plansMax } from "../../domain/limits.ts";
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import { countOf, typedDigits } from "../../domain/number_text.ts";
import { notSearched } from "../../domain/billing/lowered_limits.ts";
import { eachNumber, type Plan, planNumberNames } from "../../domain/billing/plan.ts";
import { readProductNames } from "../../services/meter/mod.ts";
import { planLimitsBelowUse } from "../../services/console/mod.ts";
import { changePlan, createPlan, getPlan, listPlans } from "../../services/billing/mod.ts";
import { AddableRows } from "../../views/components/addable_rows.tsx";
import { NameField, TextField } from "../../views/components/field.tsx";
import { type FormInput, FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { LimitFields, type LimitFieldsProps } from "../../views/components/limit_fields.tsx";
import { planHref, plansHref } from "../../views/components/links.ts";
import {
  budgetChanges,
  ConfirmChange,
  featureChanges,
  valueChanges,
} from "../../views/billing/plan_change.tsx";
import { numberHints, numberWords } from "../../views/text/plan.ts";
import { inTime } from "../portal/in_time.ts";
import {
  checkLimits,
  limitInput,
  limitsOf,
  numberOf,
  typedLimits,
  withExceptions,
} from "../meter/limit_input.ts";
import { mountFormPage, type Pages, paramOf, rowFields, rowsOf, withInput } from "../portal/noun_pages.ts";
import { catalogueSlugs } from "../meter/limit_suggestions.ts";
import type { ConsoleActor } from "../portal/operator_page.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { check, type Output } from "../schemas/check.ts";
import { createPlanSchema } from "./schemas/plans.ts";

/** In the form, every field is required. */
const planFormSchema = createPlanSchema.omit({ isDefault: true }).required();

export function planFormPages(pages: Pages<ConsoleActor>, parts: PortalParts): void {
  const { services } = parts;

  mountFormPage(pages, {
    path: `${plansHref}/new`,
    async show(_c, form) {
      // A new plan begins with the values of the default one.
      const suggestions = await catalogueSlugs(parts);
      const input = form.input ?? { ...typed(await defaultPlan(parts), suggestions.catalogue), name: "" };
      return planForm(withInput(form, input), null, suggestions);
    },
    async submit(_c, actor, input) {
      const plan = await checkTyped(input, await readProductNames(services), createPlanSchema);
      const { id } = await createPlan(services, actor, { isDefault: false, ...plan });
      return `${planHref(id)}?done=created`;
    },
  });

  mountFormPage(pages, {
    path: `${plansHref}/:id/edit`,
    async show(c, form) {
      const plan = await getPlan(services, paramOf(c, "id"));
      const suggestions = await catalogueSlugs(parts);
      return planForm(withInput(form, form.input ?? typed(plan, suggestions.catalogue)), plan, suggestions);
    },
    async submit(c, actor, input) {
      const before = await getPlan(services, paramOf(c, "id"));
      const { id, name, organizationCount } = before;
      const catalogue = await readProductNames(services);
      const typedValues = await checkTyped(input, catalogue, planFormSchema, before);
      const values = { ...typedValues, limits: withExceptions(typedValues.limits, before.limits) };
      const changes = [
        ...valueChanges(before, { ...before, ...values }, catalogue),
        ...budgetChanges(before.defaultBudget, values.defaultBudget, catalogue),
        ...featureChanges(before.features, values.features),
      ];
      if (changes.length === 0 || organizationCount === 0 || input["confirmed"] !== undefined) {
        await changePlan(services, actor, { id, ...values });
        return `${planHref(id)}?done=saved`;
      }
      const below = await inTime((signal) => planLimitsBelowUse(services, actor, { id, ...values, signal }));
      return await sendPage(
        c,
        <ConfirmChange
          frame={pages.frameOf(actor)}
          place={pages.place}
          changes={changes}
          below={below ?? notSearched}
          catalogue={catalogue}
          input={input}
          title="Change plan"
          heading="Change “{name}”?"
          name={name}
          facts={[{ label: "Affects", value: countOf(organizationCount, "organization") }]}
          action={planHref(id, "edit")}
          back={{ href: planHref(id, "edit"), label: "Edit plan" }}
        />,
      );
    },
  });
}

async function defaultPlan({ services }: PortalParts): Promise<Plan> {
  const { plans } = await listPlans(services, { limit: plansMax });
  const plan = plans.find(({ isDefault }) => isDefault);
  if (plan === undefined) throw new Error("there is no default plan");
  return plan;
}

function typed(plan: Plan, catalogue: Catalogue): FormInput {
  const limits = rowFields("limits", typedLimits(plan.limits, catalogue));
  const features = plan.features.map((slug) => ({ slug, name: featureName(slug, plan.featureNames) ?? "" }));
  const budget = rowFields("defaultBudget", typedLimits(plan.defaultBudget, catalogue));
  return {
    name: plan.name,
    ...eachNumber((number) => typedDigits(plan[number])),
    ...rowFields("features", features),
    ...limits,
    ...budget,
  };
}

/** Returns a typed plan as the API takes it. @param before Has the values of fields that the form lacks. */
function checkTyped<S extends typeof createPlanSchema | typeof planFormSchema>(
  input: FormInput,
  catalogue: Catalogue,
  schema: S,
  before?: Plan,
): Promise<Output<S>> {
  const hasBudget = input["defaultBudget[0].quantity"] !== undefined;
  const [limits, budget] = [
    limitInput(input, planLimitsMax),
    limitInput(input, budgetLimitsMax, "defaultBudget"),
  ];
  const values = {
    name: input["name"] ?? "",
    ...eachNumber((number) => input[number] === undefined ? before?.[number] : numberOf(input[number])),
    ...typedFeatures(input),
    defaultBudget: hasBudget ? limitsOf(budget, catalogue) : before?.defaultBudget,
    limits: limitsOf(limits, catalogue),
  };
  return checkLimits(() => check(schema, values, "body"), { limits, defaultBudget: budget }, catalogue);
}

const featureRows = (input: FormInput) =>
  rowsOf(input, { name: "features", parts: ["slug", "name"], rowsMax: planFeaturesMax });

function typedFeatures(input: FormInput) {
  const rows = featureRows(input).map(({ slug, name }) => [slug.trim(), name.trim()] as const);
  return {
    features: rows.map(([slug]) => slug),
    featureNames: Object.fromEntries(rows.filter(([, name]) => name !== "")),
  };
}

/** A number of up to a million. */
const numberCharactersMax = 9;

/** @param plan The plan that is edited; null for a new one. */
function planForm(
  form: PageForm,
  plan: Plan | null,
  suggestions: Pick<LimitFieldsProps, "productSlugs" | "metrics" | "catalogue">,
) {
  const { field, fields, input = {} } = form;
  return (
    <FormPage
      {...form}
      {...(plan === null ? { title: "Create plan", submit: "Create plan" } : {
        title: "Edit plan",
        heading: "Edit “{name}”",
        name: plan.name,
        text: "Changes take effect on the next request of every organization with this plan.",
        back: { href: planHref(plan.id), label: plan.name },
        submit: "Save",
      })}
      error={form.error ?? fields["limits"] ?? fields["defaultBudget"]}
      more={[
        <FeatureFields input={input} fields={fields} />,
        <>
          <h2>Usage limits</h2>
          <p class="muted small">
            {`Up to ${planLimitsMax}. Windows follow the calendar in the organization's time zone. Rows without a quantity are removed.`}
          </p>
          <LimitFields
            {...suggestions}
            fields={fields}
            limits={limitInput(input, planLimitsMax)}
            canCountValues
            limitsMax={planLimitsMax}
          />
        </>,
        <>
          <h2>Default budget</h2>
          <p class="muted small">
            {`The budget of new API keys: up to ${budgetLimitsMax} limits. Existing keys keep theirs. Rows without a quantity are removed.`}
          </p>
          <LimitFields
            {...suggestions}
            fields={fields}
            list="defaultBudget"
            hasSuggestions={false}
            limits={limitInput(input, budgetLimitsMax, "defaultBudget")}
            limitsMax={budgetLimitsMax}
          />
        </>,
      ]}
    >
      <NameField label="Name" {...field("name")} autofocus />
      <div class="row half">
        {planNumberNames.map((name) => (
          <TextField
            label={numberWords[name]}
            {...field(name)}
            hint={numberHints[name]}
            inputmode="numeric"
            required
            maxlength={numberCharactersMax}
          />
        ))}
      </div>
    </FormPage>
  );
}

function FeatureFields({ input, fields }: { input: FormInput; fields: PageForm["fields"] }) {
  const rows = featureRows(input);
  return (
    <>
      <h2>Features</h2>
      <p class="muted small">
        {`Up to ${planFeaturesMax}. Your applications read the features; customers see their names. Rows without a feature are removed.`}
      </p>
      <AddableRows
        count={rows.length}
        rowsMax={planFeaturesMax}
        label="Add feature"
        row={(index) => {
          const { slug = "", name = "" } = rows[index] ?? {};
          return (
            <div class="row half" role="group" aria-label={`Feature ${index + 1}`}>
              <TextField
                label="Feature"
                autocomplete="off"
                maxlength={featureCharactersMax}
                name={`features[${index}].slug`}
                value={slug}
                error={fields[`features[${index}]`]}
                placeholder="For example: sso"
              />
              <TextField
                label="Name for customers (optional)"
                autocomplete="off"
                maxlength={nameCharactersMax}
                name={`features[${index}].name`}
                value={name}
                error={fields[joinPath("featureNames", slug.trim())]}
                placeholder="For example: Single sign-on"
              />
            </div>
          );
        }}
      />
    </>
  );
}
