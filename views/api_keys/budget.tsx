// The page that sets the budget of an API key.
import type { ApiKey } from "../../domain/api_key.ts";
import { budgetLimitsMax } from "../../domain/limits.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { aboutOrganization, Form, type FormErrors } from "../components/form.tsx";
import { apiKeyHref } from "../components/key_name.tsx";
import { LimitFields, type LimitFieldsProps } from "../components/limit_fields.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

/** What the page shows. */
export interface BudgetPageProps
  extends FormErrors, Pick<LimitFieldsProps, "limits" | "productSlugs" | "metrics"> {
  readonly frame: PortalFrame;
  readonly apiKey: Pick<ApiKey, "id" | "name">;
}

/** @returns The page with the budget's limits as rows. */
export function budgetPage(props: BudgetPageProps): Page {
  const { frame, apiKey: { id, name }, message, fields } = props;
  return (
    <PortalPage title="Budget" frame={frame} place="api-keys">
      <PageHead
        back={{ href: apiKeyHref(id), label: name }}
        title="Budget of “{name}”"
        name={name}
        text="Limits what this key can use, in addition to your organization's limits. After a rotation, the old and the new key share the budget."
      />
      <Form class="card" action={apiKeyHref(id, "budget")} hidden={aboutOrganization(frame)}>
        <div class="body">
          <Notice tone="refused" text={message ?? fields["limits"]} />
          <p class="muted small">
            {`Up to ${budgetLimitsMax} limits, none above your organization's. Windows follow the calendar in its time zone. ` +
              "Rows without a quantity are removed."}
          </p>
          <LimitFields {...props} limitsMax={budgetLimitsMax} />
        </div>
        <footer>
          <SubmitButton>Save budget</SubmitButton>
          <ButtonLink href={apiKeyHref(id)}>Cancel</ButtonLink>
        </footer>
      </Form>
    </PortalPage>
  );
}
