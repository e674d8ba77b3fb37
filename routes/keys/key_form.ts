// Forms of API keys, with their sent or initial values.
import type { ApiKey } from "../../domain/keys/api_key.ts";
import { validationError } from "../../domain/errors.ts";
import {
  defaultKeyPermissions,
  isOwnPermission,
  keyPermissionFault,
  usagePermissions,
} from "../../domain/keys/key_permissions.ts";
import { expiryValue } from "../../views/components/expiry_field.tsx";
import type { PermissionChoice } from "../../views/keys/permission_fields.tsx";
import type { KeyAccessValues } from "../../views/keys/key_access_fields.tsx";
import type { NewKeyValues } from "../../views/keys/new_api_key_form.tsx";
import { createApiKeySchema } from "./schemas/api_keys.ts";
import { blocksFault, typedBlocks } from "../schemas/address_blocks.ts";
import { check, checkTogether } from "../schemas/check.ts";
import { checkBudget } from "./key_budget.ts";
import type { PortalParts } from "../portal/page.ts";
import { expiryOf } from "../portal/expiry.ts";

type Input = Readonly<Record<string, string>>;

/** Returns the values of the form: the input of a rejected one, or the defaults with a new token. */
export function newKeyValues(input?: Input): NewKeyValues {
  return {
    name: input?.["name"] ?? "",
    environment: input?.["environment"] ?? "live",
    expiry: expiryValue(input),
    permissions: input === undefined ? choiceOf(defaultKeyPermissions) : typedChoice(input),
    access: typedAccess(input),
    formToken: input?.["formToken"] ?? newFormToken(),
  };
}

/** Returns the key that a form creates. @throws {AppError} `validation_failed`. */
export async function newKeyOf(parts: PortalParts, { environment = "live", ...input }: Input) {
  const expiresAt = () => expiryOf(input, parts.services.clock());
  const key = await checkBudget(
    parts,
    input,
    (budget) => checkedKey(input, { environment, ...(budget && { budget }) }, expiresAt),
  );
  return { ...key, expiresAt: expiresAt(), formToken: formTokenOf(input) };
}

/** Returns a token for one form, which creates one key however often it is sent. */
export function newFormToken(): string {
  return crypto.randomUUID();
}

export function formTokenOf({ formToken = "" }: Input): string | null {
  return /^[0-9a-f-]{36}$/.test(formToken) ? formToken : null;
}

/** Returns what the fields about a key's access have. */
export function typedAccess(input: Input = {}): KeyAccessValues {
  return { addresses: input["addresses"] ?? "", requestsPerSecond: input["requestsPerSecond"] ?? "" };
}

export function accessOf({ addresses, requestsPerSecond }: ApiKey): KeyAccessValues {
  return { addresses: addresses?.join(" ") ?? "", requestsPerSecond: String(requestsPerSecond ?? "") };
}

export function accessErrors(fields: Readonly<Record<string, string>>) {
  return { addresses: blocksFault(fields), requestsPerSecond: fields["requestsPerSecond"] };
}

/** Returns the fields that only some have, if the form has them. An empty one is null. */
function accessFields({ addresses, requestsPerSecond }: Input) {
  const blocks = typedBlocks(addresses);
  return {
    ...(addresses === undefined ? {} : { addresses: blocks.length === 0 ? null : blocks }),
    ...(requestsPerSecond === undefined
      ? {}
      : { requestsPerSecond: requestsPerSecond.trim() === "" ? null : Number(requestsPerSecond) }),
  };
}

/** Returns permissions as the form's fields have them. */
export function choiceOf(permissions: ApiKey["permissions"]): PermissionChoice {
  return { usage: new Set(permissions), own: permissions.filter(isOwnPermission).join(" ") };
}

export function typedChoice(input: Input): PermissionChoice {
  return {
    usage: new Set(usagePermissions.filter((name) => input[name] !== undefined)),
    own: input["permissions"] ?? "",
  };
}

/**
 * Checks the name, permissions and access of a form. Without the fields of permissions or access, these are undefined.
 *
 * @param more Further fields. @param checkRest Checks the rest of the form if these are invalid.
 * @throws {AppError} `validation_failed`.
 */
export async function checkedKey(
  input: Input,
  more: { environment?: string; budget?: unknown },
  checkRest: () => unknown,
) {
  const { usage, own } = typedChoice(input);
  const names = own.split(/[\s,]+/).filter((name) => name !== "");
  const checkNames = () => {
    for (const name of names) {
      const fault = keyPermissionFault(name);
      if (fault !== null) throw validationError([{ path: "permissions", message: `“${name}” ${fault}` }]);
    }
  };
  const permissions = input["permissions"] === undefined ? undefined : [...usage, ...names];
  const typed = { name: input["name"] ?? "", permissions, ...accessFields(input), ...more };
  return await checkTogether(() => check(createApiKeySchema, typed, "body"), checkNames, checkRest);
}
