// The console's forms that give an organization another plan, or limits of its own.
import { validationError } from "../../domain/errors.ts";
import { planLimitsMax, plansMax } from "../../domain/limits.ts";
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import { typedDigits } from "../../domain/number_text.ts";
import { effectiveLimits, type LimitsBelowUse, notSearched } from "../../domain/billing/lowered_limits.ts";
import type { OperatedOrganization } from "../../domain/console/organization.ts";
import { eachNumber, type Plan, planNumberNames } from "../../domain/billing/plan.ts";
import { operatorAccess } from "../../services/access/mod.ts";
import { readProductNames } from "../../services/meter/mod.ts";
import {
  changeOrganization,
  getOrganization,
  organizationLimitsBelowUse,
} from "../../services/console/mod.ts";
import { getPlan, listPlans, type OrganizationPlanChange } from "../../services/billing/mod.ts";
import { SelectField, TextField } from "../../views/components/field.tsx";
import { type FormInput, FormPage, type PageForm } from "../../views/components/form_page.tsx";
import { LimitFields, type LimitFieldsProps } from "../../views/components/limit_fields.tsx";
import { timezoneChoices } from "../../views/meter/usage_filters.tsx";
import {
  backTo,
  organizationHref,
  organizationLimitsHref,
  organizationPlanHref,
  organizationsHref,
} from "../../views/components/links.ts";
import { ConfirmChange, type ConfirmChangeProps, valueChanges } from "../../views/billing/plan_change.tsx";
import { numberHints, numberText, numberWords } from "../../views/text/plan.ts";
import { timezoneNames } from "../../views/text/zone.ts";
import type { App } from "../env.ts";
import { queryOf } from "../portal/form.ts";
import { inTime } from "../portal/in_time.ts";
import {
  checkLimits,
  limitInput,
  limitsOf,
  numberOf,
  typedLimits,
  withExceptions,
} from "../meter/limit_input.ts";
import { mountFormPage, type Pages, paramOf, rowFields, withInput } from "../portal/noun_pages.ts";
import { limitPace, typedPace } from "../meter/limit_pace.tsx";
import { catalogueSlugs } from "../meter/limit_suggestions.ts";
import { type ConsoleActor, consolePages } from "../portal/operator_page.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { check } from "../schemas/check.ts";
import { changeOrganizationSchema } from "./schemas/operator_organizations.ts";

const path = `${organizationsHref}/:id`;

export function operatorOrganizationLimitForms(app: App, parts: PortalParts): void {
  const pages = consolePages(app, parts, "operator/organizations");
  planPages(pages, parts);
  limitPages(pages, parts);
}

function planPages(pages: Pages<ConsoleActor>, parts: PortalParts): void {
  const { services } = parts;
  mountFormPage(pages, {
    path: `${path}/plan`,
    async show(c, form) {
      const organization = await getOrganization(services, paramOf(c, "id"));
      const { plans } = await listPlans(services, { limit: plansMax });
      return (
        <FormPage
          {...form}
          title="Change plan"
          heading="Change the plan of “{name}”"
          name={organization.name}
          text="Overrides of this organization stay. You'll see what changes before it takes effect."
          submit="Continue"
          back={backTo(organization)}
          isNarrow
        >
          <SelectField
            label="Plan"
            name="planId"
            value={form.input?.["planId"] ?? organization.planId}
            choices={plans.map(({ id, name }) => ({ value: id, label: name }))}
            error={form.fields["planId"]}
          />
        </FormPage>
      );
    },
    async submit(c, actor, input) {
      const { planId } = check(changeOrganizationSchema, { planId: input["planId"] }, "body");
      const organization = await getOrganization(services, paramOf(c, "id"));
      const { id: idText, planId: from, overrides } = organization;
      if (planId === undefined || planId === from || input["confirmed"] !== undefined) {
        await changeOrganization(services, actor, { idText, planId });
        return `${organizationHref(idText)}?done=saved`;
      }
      const { plans } = await listPlans(services, { limit: plansMax });
      const newPlan = plans.find(({ id }) => id === planId);
      if (newPlan === undefined) throw validationError([{ path: "planId", message: "Choose a plan." }]);
      const plan = await getPlan(services, from);
      const catalogue = await readProductNames(services);
      const page = confirmChange(pages, {
        actor,
        organization,
        title: "Change plan",
        heading: "Change the plan of “{name}”?",
        facts: [
          { label: "Plan", value: <bdi>{plan.name}</bdi> },
          { label: "New plan", value: <bdi>{newPlan.name}</bdi> },
        ],
        changes: valueChanges(
          effectiveLimits(plan, overrides),
          effectiveLimits(newPlan, overrides),
          catalogue,
        ),
        catalogue,
        below: await limitsBelowUse(parts, actor, { idText, planId }),
        input: { planId },
        back: { href: organizationPlanHref(idText), label: "Change plan" },
      });
      return await sendPage(c, page);
    },
  });
}

async function limitsBelowUse(
  { services }: PortalParts,
  actor: ConsoleActor,
  change: OrganizationPlanChange & { idText: string },
): Promise<LimitsBelowUse> {
  const found = await inTime((signal) => organizationLimitsBelowUse(services, actor, { ...change, signal }));
  return found ?? notSearched;
}

/** The page that asks whether to make a change. */
function confirmChange(
  { frameOf, place }: Pages<ConsoleActor>,
  { actor, organization: { name }, ...change }: Omit<ConfirmChangeProps, "frame" | "place" | "action"> & {
    actor: ConsoleActor;
    organization: OperatedOrganization;
  },
) {
  const { href } = change.back;
  return <ConfirmChange {...change} frame={frameOf(actor)} place={place} name={name} action={href} />;
}

function limitPages(pages: Pages<ConsoleActor>, parts: PortalParts): void {
  const { services } = parts;
  mountFormPage(pages, {
    path: `${path}/limits/edit`,
    async show(c, form, actor) {
      const organization = await getOrganization(services, paramOf(c, "id"));
      const access = await operatorAccess(services, actor, organization.id);
      const words = await typedPace(c, parts, access);
      if (words !== null) return words;
      const plan = await getPlan(services, organization.planId);
      const replaced = plan.limits.filter(({ id }) => id === queryOf(c, "limit"));
      const suggestions = await catalogueSlugs(parts);
      const filled = withInput(form, form.input ?? typed(organization, replaced, suggestions.catalogue));
      const rows = limitInput(filled.input ?? {}, planLimitsMax);
      const { catalogue } = suggestions;
      const wordsOf = await limitPace(parts, access, { rows, catalogue, apiKey: undefined });
      return limitForm(filled, { organization, plan, ...suggestions, pace: { href: form.action, wordsOf } });
    },
    async submit(c, actor, input) {
      const catalogue = await readProductNames(services);
      const rows = limitInput(input, planLimitsMax);
      const overrides = {
        ...eachNumber((name) => (input[name] ?? "").trim() === "" ? null : numberOf(input[name] ?? "")),
        limits: limitsOf(rows, catalogue),
      };
      const { timezone = "" } = input;
      const checked = await checkLimits(
        () => check(changeOrganizationSchema, { timezone, overrides }, "body"),
        { "overrides.limits": rows },
        catalogue,
      );
      const organization = await getOrganization(services, paramOf(c, "id"));
      const plan = await getPlan(services, organization.planId);
      const before = [...organization.overrides.limits, ...plan.limits];
      const limits = withExceptions(checked.overrides?.limits ?? [], before);
      const change = { ...checked, overrides: { ...checked.overrides, limits } };
      const { id: idText } = organization;
      const isConfirmed = input["confirmed"] !== undefined;
      const below = isConfirmed ? null : await limitsBelowUse(parts, actor, { idText, ...change });
      if (below === null || (below.organizationCount === 0 && below.isComplete)) {
        await changeOrganization(services, actor, { idText, ...change });
        return `${organizationHref(idText)}/limits?done=saved`;
      }
      const after = {
        ...eachNumber((name) => change.overrides?.[name] ?? null),
        limits: change.overrides?.limits ?? [],
      };
      const page = confirmChange(pages, {
        actor,
        organization,
        title: "Change limits",
        heading: "Change the limits of “{name}”?",
        facts: [{ label: "Plan", value: <bdi>{plan.name}</bdi> }],
        changes: valueChanges(
          effectiveLimits(plan, organization.overrides),
          effectiveLimits(plan, after),
          catalogue,
        ),
        catalogue,
        below,
        input,
        back: { href: organizationLimitsHref(idText), label: "Edit limits" },
      });
      return await sendPage(c, page);
    },
  });
}

/** Returns the typed overrides, and limits of the plan to replace. Empty numbers follow the plan. */
function typed(
  { overrides, timezone }: OperatedOrganization,
  replaced: Plan["limits"],
  catalogue: Catalogue,
): FormInput {
  return {
    ...eachNumber((name) => overrides[name] === null ? "" : typedDigits(overrides[name])),
    timezone,
    ...rowFields("limits", typedLimits([...overrides.limits, ...replaced], catalogue)),
  };
}

/** A number of up to a million. */
const numberCharactersMax = 9;

function limitForm(form: PageForm, { organization, plan, ...suggestions }: {
  organization: OperatedOrganization;
  plan: Plan;
} & Pick<LimitFieldsProps, "productSlugs" | "metrics" | "catalogue" | "pace">) {
  const { field, fields, input = {} } = form;
  const timezone = field("timezone");
  return (
    <FormPage
      {...form}
      title="Edit limits"
      heading="Edit the limits of “{name}”"
      name={organization.name}
      text="These values replace the plan's. Changes take effect on the next request."
      error={form.error ?? fields["overrides.limits"]}
      submit="Save"
      back={backTo(organization)}
      more={[
        <>
          <h2>Usage limits</h2>
          <p class="muted small">
            A limit replaces the plan's limit with the same product, metric, window and property. Rows without
            a quantity are removed, unless you choose “No limit”.
          </p>
          <LimitFields
            {...suggestions}
            fields={fields}
            limits={limitInput(input, planLimitsMax)}
            canCountValues
            limitsMax={planLimitsMax}
            path="overrides."
            canLift
          />
        </>,
        <SelectField
          label="Time zone"
          {...timezone}
          choices={timezoneChoices(timezoneNames(), timezone.value)}
          hint="Days and months of limits begin at midnight there."
        />,
      ]}
    >
      <div class="row half">
        {planNumberNames.map((name) => (
          <TextField
            label={numberWords[name]}
            {...field(name)}
            placeholder={`${numberText(name, plan[name])} in the plan`}
            hint={numberHints[name]}
            error={fields[`overrides.${name}`]}
            inputmode="numeric"
            maxlength={numberCharactersMax}
          />
        ))}
      </div>
    </FormPage>
  );
}
