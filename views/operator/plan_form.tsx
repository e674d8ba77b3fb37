// The form that creates or edits a plan, and the page that asks before a plan in use is changed.
import { planLimitsMax } from "../../domain/limits.ts";
import { countOf } from "../../domain/number_text.ts";
import { type Plan, planNumberNames, type PlanNumbers } from "../../domain/operator/plan.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { NameField, TextField } from "../components/field.tsx";
import { Form, type FormErrors } from "../components/form.tsx";
import { LimitFields, type LimitFieldsProps, type LimitInput } from "../components/limit_fields.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { planHref, plansHref } from "./links.ts";
import { ConfirmChange, type ConfirmChangeProps } from "./plan_change.tsx";
import { numberHints, numberWords } from "./plan_text.ts";
import { backToPlans, planPlace as place } from "./plans.tsx";

/** A plan as typed. */
export interface PlanInput extends Readonly<Record<keyof PlanNumbers, string>> {
  readonly name: string;
  readonly limits: readonly LimitInput[];
}

/** What the form shows. */
export interface PlanFormProps extends FormErrors, Pick<LimitFieldsProps, "productSlugs" | "metrics"> {
  readonly frame: PortalFrame;
  /** The plan that is edited; null for a new one. */
  readonly plan: Pick<Plan, "id" | "name"> | null;
  readonly input: PlanInput;
}

/** A number of up to a million. */
const numberCharactersMax = 9;

/** @returns The page that creates or edits a plan. */
export function planFormPage(props: PlanFormProps): Page {
  const { frame, plan, input, fields, message } = props;
  const title = plan === null ? "Create plan" : "Edit plan";
  const back = plan === null ? backToPlans : { href: planHref(plan.id), label: plan.name };
  return (
    <PortalPage title={title} frame={frame} place={place}>
      <PageHead
        back={back}
        title={plan === null ? title : "Edit “{name}”"}
        name={plan?.name}
        text={plan !== null &&
          "Changes take effect on the next request of every organization with this plan."}
      />
      <Form class="card" action={plan === null ? `${plansHref}/new` : planHref(plan.id, "edit")}>
        <div class="body">
          <Notice tone="refused" text={message ?? fields["limits"]} />
          <NameField label="Name" value={input.name} error={fields["name"]} autocomplete="off" autofocus />
          <div class="row half">
            {planNumberNames.map((name) => (
              <TextField
                label={numberWords[name]}
                name={name}
                value={input[name]}
                hint={numberHints[name]}
                error={fields[name]}
                autocomplete="off"
                inputmode="numeric"
                required
                maxlength={numberCharactersMax}
              />
            ))}
          </div>
        </div>
        <div class="body ruled">
          <h2>Usage limits</h2>
          <p class="muted small">
            {`Up to ${planLimitsMax}. Windows follow the calendar in the organization's time zone. Rows without a quantity are removed.`}
          </p>
          <LimitFields {...props} limits={input.limits} limitsMax={planLimitsMax} />
        </div>
        <footer>
          <SubmitButton>{plan === null ? "Create plan" : "Save"}</SubmitButton>
          <ButtonLink href={back.href}>Cancel</ButtonLink>
        </footer>
      </Form>
    </PortalPage>
  );
}

/** @returns The page that asks whether to change a plan that organizations have. */
export function changePlanPage(
  { plan, ...change }: Pick<ConfirmChangeProps, "frame" | "changes" | "below" | "input"> & { plan: Plan },
): Page {
  const { id, name, organizationCount } = plan;
  return (
    <ConfirmChange
      {...change}
      place={place}
      title="Change plan"
      heading="Change “{name}”?"
      name={name}
      facts={[{ label: "Affects", value: countOf(organizationCount, "organization") }]}
      action={planHref(id, "edit")}
      back={{ href: planHref(id, "edit"), label: "Edit plan" }}
    />
  );
}
