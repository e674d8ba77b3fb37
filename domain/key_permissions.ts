// The permissions of API keys: those for usage, which Gatehouse checks, and an organization's own, which it stores and reports.
import { keyPermissionCharactersMax } from "./limits.ts";

/** The permissions that Gatehouse checks. */
export const usagePermissions = ["usage:read", "usage:void", "usage:write"] as const;
export type UsagePermission = (typeof usagePermissions)[number];

/** What a key may do unless its creator chooses something else. */
export const defaultKeyPermissions: readonly string[] = ["usage:read", "usage:write"];

/** Only operators grant this one: customers must not erase what they are billed for. */
export const operatorsKeyPermission: UsagePermission = "usage:void";

/** The form of a permission. */
export const keyPermissionForm = new RegExp(`^[a-z0-9][a-z0-9:._-]{0,${keyPermissionCharactersMax - 1}}$`);

/** @returns Whether a permission is an organization's own, and not one that Gatehouse checks. */
export function isOwnPermission(name: string): boolean {
  return !(usagePermissions as readonly string[]).includes(name);
}

/**
 * Checks a permission.
 *
 * @returns What is wrong with it, as the end of a sentence, or null.
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

/** @returns The permissions as they are stored: sorted, each once. */
export function sortedPermissions(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}
