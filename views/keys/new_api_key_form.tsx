// The form that creates an API key.
import { apiKeyNameCharactersMax } from "../../domain/limits.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { ExpiryField, type ExpiryValue } from "../components/expiry_field.tsx";
import { NameField, RadioGroup } from "../components/field.tsx";
import { aboutOrganization, errorAt, Form, type FormErrors } from "../components/form.tsx";
import { Icon } from "../components/icon.tsx";
import { LimitFields, type LimitFieldsProps } from "../components/limit_fields.tsx";
import { Notice } from "../components/notice.tsx";
import { type KeyAccessErrors, KeyAccessFields, type KeyAccessValues } from "./key_access_fields.tsx";
import { managesAllKeys } from "../components/key_name.tsx";
import { type PermissionChoice, PermissionFields } from "./permission_fields.tsx";
import type { PortalFrame } from "../layout.tsx";

export interface NewKeyValues {
  readonly name: string;
  /** The environment as chosen in the form. */
  readonly environment: string;
  readonly expiry: ExpiryValue;
  readonly permissions: PermissionChoice;
  readonly access: KeyAccessValues;
  /** The one-time token: sending the form again creates no second key. */
  readonly formToken: string;
}

interface NewApiKeyFormProps extends FormErrors {
  readonly frame: PortalFrame;
  readonly values: NewKeyValues;
  readonly accessErrors: KeyAccessErrors;
  /** For those who set budgets, with the one that the key gets by default. */
  readonly budget?: LimitFieldsProps | undefined;
}

/** The form that creates a key. Without `canCancel`, it is the first key's on the page of a list without keys. */
export function NewApiKeyForm(
  { frame, values, fields, accessErrors, budget, message, canCancel = false }: NewApiKeyFormProps & {
    canCancel?: boolean;
  },
) {
  const list = `${frame.base}/api-keys`;
  return (
    <Form
      class="card"
      action={`${list}/new`}
      hidden={{ ...aboutOrganization(frame), formToken: values.formToken }}
    >
      {!canCancel && (
        <header>
          <h2>Create your first key</h2>
        </header>
      )}
      <div class="body">
        <Notice tone="error" text={message ?? budget?.fields["limits"] ?? null} />
        <div class="row half">
          <NameField
            label="Name"
            value={values.name}
            placeholder="For example: Production"
            {...errorAt(fields, "name")}
            autocomplete="off"
            charactersMax={apiKeyNameCharactersMax}
            autofocus={canCancel}
          />
          <ExpiryField value={values.expiry} fields={fields} now={frame.now} />
        </div>
        <RadioGroup
          label="Environment"
          name="environment"
          value={values.environment}
          error={fields["environment"]}
          choices={[
            { value: "live", label: "Live", hint: "Usage is on statements and counts against limits." },
            {
              value: "test",
              label: "Test",
              hint:
                "Usage isn't on statements and doesn't count against limits. This can't be changed later.",
            },
          ]}
        />
        <PermissionFields
          chosen={values.permissions}
          error={fields["permissions"]}
          hasVoid={frame.viewed !== null}
        />
        {managesAllKeys(frame) && <KeyAccessFields values={values.access} errors={accessErrors} />}
        {budget && <BudgetFields {...budget} />}
      </div>
      <footer>
        <SubmitButton>Create key</SubmitButton>
        {canCancel && <ButtonLink href={list}>Cancel</ButtonLink>}
      </footer>
    </Form>
  );
}

function BudgetFields(props: LimitFieldsProps) {
  return (
    <details class="event-group" open={props.limits.length > 0}>
      <summary>
        <Icon name="chevron" />
        Budget (optional)
      </summary>
      <div class="stacked">
        <p class="muted small">
          {`Up to ${props.limitsMax} limits, none above the organization's. The plan's default budget is filled in. ` +
            "Rows without a quantity are left out."}
        </p>
        <LimitFields {...props} />
      </div>
    </details>
  );
}
