// The fields of the form that creates an API key.
import { apiKeyNameCharactersMax } from "../../domain/limits.ts";
import { ExpiryField, type ExpiryValue } from "../components/expiry_field.tsx";
import { NameField } from "../components/field.tsx";
import { type FormErrors, HiddenFields } from "../components/form.tsx";
import { type PermissionChoice, PermissionFields } from "./permission_fields.tsx";

/** The values of the fields, as chosen and typed. */
export interface NewKeyValues {
  readonly name: string;
  readonly expiry: ExpiryValue;
  readonly permissions: PermissionChoice;
  /** The one-time token: sending the form again creates no second key. */
  readonly formToken: string;
}

/** The fields. `canGrantVoid`: with the permission that only operators grant. */
export function NewKeyFields(
  { values, fields, now, canGrantVoid, autofocus }: Pick<FormErrors, "fields"> & {
    values: NewKeyValues;
    now: number;
    canGrantVoid: boolean;
    autofocus: boolean;
  },
) {
  return (
    <>
      <HiddenFields values={{ formToken: values.formToken }} />
      <div class="row half">
        <NameField
          label="Name"
          value={values.name}
          placeholder="For example: Production"
          error={fields["name"]}
          autocomplete="off"
          charactersMax={apiKeyNameCharactersMax}
          autofocus={autofocus}
        />
        <ExpiryField value={values.expiry} fields={fields} now={now} />
      </div>
      <PermissionFields
        chosen={values.permissions}
        error={fields["permissions"]}
        hasVoid={canGrantVoid}
      />
    </>
  );
}
