// The fields of API keys that only owners, admins and operators set.
import type { ApiKeyRow } from "../../db/keys/api_keys.ts";
import type { AuditEntry } from "../../domain/access/audit.ts";
import { type Access, requirePermission } from "../access/mod.ts";

export interface KeyFields {
  /** CIDR blocks; null for any address. */
  readonly addresses?: readonly string[] | null | undefined;
  /** Null for that of the plan. */
  readonly requestsPerSecond?: number | null | undefined;
}

export type StoredFields = Pick<ApiKeyRow, "addresses" | "requestsPerSecond">;

export const noFields: StoredFields = { addresses: null, requestsPerSecond: null };

/** @throws {AppError} `forbidden` if any of the fields is set. */
export function requireFieldsAllowed(access: Access, fields: KeyFields): void {
  if (Object.values(fields).some((value) => value !== undefined)) {
    requirePermission(access, "apiKeys.manageAll");
  }
}

/** Returns the fields as stored, after a change of those that it has. */
export function storedFields({ addresses, requestsPerSecond }: KeyFields, from: StoredFields): StoredFields {
  return {
    addresses: addresses === undefined ? from.addresses : addresses && JSON.stringify(addresses),
    requestsPerSecond: requestsPerSecond === undefined ? from.requestsPerSecond : requestsPerSecond,
  };
}

const actions = {
  addresses: "api_key.addresses_changed",
  requestsPerSecond: "api_key.rate_changed",
} as const satisfies Record<keyof StoredFields, AuditEntry["action"]>;

const names = Object.keys(actions) as (keyof StoredFields)[];

function textsOf({ addresses, requestsPerSecond }: StoredFields): Record<keyof StoredFields, string | null> {
  return {
    addresses: addresses && (JSON.parse(addresses) as string[]).join(", "),
    requestsPerSecond: requestsPerSecond === null ? null : String(requestsPerSecond),
  };
}

/** Returns the fields of a new key for its entry in the audit log. */
export function fieldDetails(fields: StoredFields): Record<string, string> {
  return Object.fromEntries(Object.entries(textsOf(fields)).filter(([, text]) => text !== null)) as Record<
    string,
    string
  >;
}

/** Returns the actions in the audit log for the fields that change, with their details. */
export function fieldChanges(before: StoredFields, after: StoredFields) {
  const [from, to] = [textsOf(before), textsOf(after)];
  return names.filter((name) => from[name] !== to[name]).map((name) => ({
    action: actions[name],
    details: { from: from[name] ?? "none", to: to[name] ?? "none" },
  }));
}
