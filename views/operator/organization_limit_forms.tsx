// The forms that give an organization another plan or limits of its own, and what they ask before.
import { planLimitsMax } from "../../domain/limits.ts";
import type { OperatedOrganization } from "../../domain/operator/organization.ts";
import { type Plan, planNumberNames, type PlanNumbers } from "../../domain/operator/plan.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { SelectField, TextField } from "../components/field.tsx";
import { Form, type FormErrors } from "../components/form.tsx";
import { LimitFields, type LimitFieldsProps, type LimitInput } from "../components/limit_fields.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { timezoneChoices } from "../meter/usage_filters.tsx";
import { organizationHref } from "./links.ts";
import { organizationPlace as place } from "./organization.tsx";
import { backTo } from "./organization_forms.tsx";
import { organizationLimitsHref, organizationPlanHref } from "./organization_limits.tsx";
import { ConfirmChange, type ConfirmChangeProps } from "./plan_change.tsx";
import { numberHints, numberText, numberWords } from "./plan_text.ts";

type Organization = Pick<OperatedOrganization, "id" | "name">;

/** What the form that changes the plan shows. */
export interface OrganizationPlanFormProps extends FormErrors {
  readonly frame: PortalFrame;
  readonly organization: Organization;
  readonly plans: readonly Pick<Plan, "id" | "name">[];
  readonly planId: string;
}

/** @returns The page that gives an organization another plan. */
export function organizationPlanPage(props: OrganizationPlanFormProps): Page {
  const { frame, organization, plans, planId, fields, message } = props;
  return (
    <PortalPage title="Change plan" frame={frame} place={place}>
      <div class="ask">
        <PageHead
          back={backTo(organization)}
          title="Change the plan of “{name}”"
          name={organization.name}
          text="Overrides of this organization stay. You'll see what changes before it takes effect."
        />
        <Form class="card" action={organizationPlanHref(organization.id)}>
          <div class="body">
            <Notice tone="refused" text={message} />
            <SelectField
              label="Plan"
              name="planId"
              value={planId}
              choices={plans.map(({ id, name }) => ({ value: id, label: name }))}
              error={fields["planId"]}
            />
          </div>
          <footer>
            <SubmitButton>Continue</SubmitButton>
            <ButtonLink href={organizationHref(organization.id)}>Cancel</ButtonLink>
          </footer>
        </Form>
      </div>
    </PortalPage>
  );
}

type ChangeProps = Pick<ConfirmChangeProps, "frame" | "changes" | "below" | "input"> & {
  readonly organization: Organization;
  readonly plan: Pick<Plan, "name">;
};

/** @returns The page that asks whether to give an organization another plan. */
export function confirmOrganizationPlanPage(
  { organization, plan, newPlan, ...change }: ChangeProps & { newPlan: Pick<Plan, "name"> },
): Page {
  return (
    <ConfirmChange
      {...change}
      place={place}
      title="Change plan"
      heading="Change the plan of “{name}”?"
      name={organization.name}
      facts={[
        { label: "Plan", value: <bdi>{plan.name}</bdi> },
        { label: "New plan", value: <bdi>{newPlan.name}</bdi> },
      ]}
      action={organizationPlanHref(organization.id)}
      back={{ href: organizationPlanHref(organization.id), label: "Change plan" }}
    />
  );
}

/** What an organization has instead of its plan's values, as typed. Empty numbers are the plan's. */
export interface OverridesInput extends Readonly<Record<keyof PlanNumbers, string>> {
  readonly timezone: string;
  readonly limits: readonly LimitInput[];
}

/** What the form with the overrides shows. */
export interface OrganizationLimitsFormProps
  extends FormErrors, Pick<LimitFieldsProps, "productSlugs" | "metrics"> {
  readonly frame: PortalFrame;
  readonly organization: Organization;
  readonly plan: Plan;
  readonly input: OverridesInput;
  readonly timezones: readonly string[];
}

/** As in the form of plans. */
const numberCharactersMax = 9;

/** @returns The page that sets an organization's limits. */
export function organizationLimitsPage(props: OrganizationLimitsFormProps): Page {
  const { frame, organization, plan, input, fields, message, timezones } = props;
  return (
    <PortalPage title="Edit limits" frame={frame} place={place}>
      <PageHead
        back={backTo(organization)}
        title="Edit the limits of “{name}”"
        name={organization.name}
        text="These values replace the plan's. Changes take effect on the next request."
      />
      <Form class="card" action={organizationLimitsHref(organization.id)}>
        <div class="body">
          <Notice tone="refused" text={message ?? fields["overrides.limits"]} />
          <div class="row half">
            {planNumberNames.map((name) => (
              <TextField
                label={numberWords[name]}
                name={name}
                value={input[name]}
                placeholder={`${numberText(name, plan[name])} in the plan`}
                hint={numberHints[name]}
                error={fields[`overrides.${name}`]}
                autocomplete="off"
                inputmode="numeric"
                maxlength={numberCharactersMax}
              />
            ))}
          </div>
        </div>
        <div class="body ruled">
          <h2>Usage limits</h2>
          <p class="muted small">
            A limit replaces the plan's limit with the same product, metric and window. Rows without a
            quantity are removed, unless you choose “No limit”.
          </p>
          <LimitFields {...props} limits={input.limits} limitsMax={planLimitsMax} path="overrides." canLift />
        </div>
        <div class="body ruled">
          <SelectField
            label="Time zone"
            name="timezone"
            value={input.timezone}
            choices={timezoneChoices(timezones, input.timezone)}
            hint="Days and months of limits begin at midnight there."
            error={fields["timezone"]}
          />
        </div>
        <footer>
          <SubmitButton>Save</SubmitButton>
          <ButtonLink href={organizationHref(organization.id)}>Cancel</ButtonLink>
        </footer>
      </Form>
    </PortalPage>
  );
}

/** @returns The page that asks whether to set limits below what is used. */
export function confirmOrganizationLimitsPage({ organization, plan, ...change }: ChangeProps): Page {
  return (
    <ConfirmChange
      {...change}
      place={place}
      title="Change limits"
      heading="Change the limits of “{name}”?"
      name={organization.name}
      facts={[{ label: "Plan", value: <bdi>{plan.name}</bdi> }]}
      action={organizationLimitsHref(organization.id)}
      back={{ href: organizationLimitsHref(organization.id), label: "Edit limits" }}
    />
  );
}
