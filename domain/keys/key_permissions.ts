// The permissions of API keys: those for usage, which Gatehouse checks, and an organization's own, which it stores and reports.
import { keyPermissionCharactersMax } from "../limits.ts";

export const usagePermissions = ["usage:read", "usage:void", "usage:write"] as const;
export type UsagePermission = (typeof usagePermissions)[number];

/** The permissions of a key unless its creator chooses others. */
export const defaultKeyPermissions: readonly string[] = ["usage:read", "usage:write"];

/** Only operators grant this one: customers must not erase what they are billed for. */
export const operatorsKeyPermission: UsagePermission = "usage:void";

export const keyPermissionForm = new RegExp(`^[a-z0-9][a-z0-9:._-]{0,${keyPermissionCharactersMax - 1}}$`);

/** True for an organization's own permission, which Gatehouse doesn't check. */
export function isOwnPermission(name: string): boolean {
  return !(usagePermissions as readonly string[]).includes(name);
}

/**
 * Returns the problem with a permission as the end of a sentence, or null.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.equal(keyPermissionFault("maps:render"), null);
 * assert.equal(keyPermissionFault("usage:void"), null);
 * assert.match(keyPermissionFault("usage:delete") ?? "", /must not begin/);
 * assert.match(keyPermissionFault("Maps") ?? "", /lowercase/);
 * ```
 */
export function keyPermissionFault(name: string): string | null {
  if (!keyPermissionForm.test(name)) {
    return `must be 1 to ${keyPermissionCharactersMax} lowercase letters, digits, colons, dots, dashes or underscores, ` +
      "beginning with a letter or digit.";
  }
  return name.startsWith("usage:") && isOwnPermission(name)
    ? `must not begin with “usage:”, except for ${usagePermissions.join(", ")}.`
    : null;
}

export function sortedPermissions(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}
