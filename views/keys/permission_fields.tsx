// The permissions of a key, and the fields that choose them.
import { isOwnPermission, operatorsKeyPermission } from "../../domain/keys/key_permissions.ts";
import { keyPermissionCharactersMax, ownKeyPermissionsMax } from "../../domain/limits.ts";
import { CheckboxGroup, type Choice, TextField } from "../components/field.tsx";

export interface PermissionChoice {
  readonly usage: ReadonlySet<string>;
  /** An organization's own, separated by spaces or commas. */
  readonly own: string;
}

const choices: readonly Choice[] = [
  { value: "usage:write", label: "Record usage", hint: "usage:write" },
  { value: "usage:read", label: "Read usage", hint: "usage:read" },
];
const voidChoice: Choice = {
  value: operatorsKeyPermission,
  label: "Void usage records",
  hint: `${operatorsKeyPermission}. Once removed, only the operator of this service can grant it again.`,
};

/** The fields. `hasVoid`: with the permission that members can only keep or remove, and operators grant. */
export function PermissionFields(
  { chosen, error, hasVoid }: {
    chosen: PermissionChoice;
    error: string | undefined;
    hasVoid: boolean;
  },
) {
  return (
    <>
      <CheckboxGroup
        label="Permissions"
        name="usage"
        value={chosen.usage}
        choices={hasVoid ? [...choices, voidChoice] : choices}
      />
      <TextField
        label="Your own permissions (optional)"
        name="permissions"
        value={chosen.own}
        placeholder="For example: maps:render maps:export"
        hint="Reported to your applications when they verify the key."
        error={error}
        autocomplete="off"
        maxlength={ownKeyPermissionsMax * (keyPermissionCharactersMax + 2)}
      />
    </>
  );
}

export function PermissionList({ permissions }: { permissions: readonly string[] }) {
  if (permissions.length === 0) return <span class="muted">None</span>;
  return (
    <ul>
      {[...choices, voidChoice].filter(({ value }) => permissions.includes(value)).map(({ label }) => (
        <li>{label}</li>
      ))}
      {permissions.filter(isOwnPermission).map((name) => (
        <li>
          <code>{name}</code>
        </li>
      ))}
    </ul>
  );
}
