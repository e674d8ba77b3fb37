// The fields of API keys that only owners, admins and operators set, and those that only operators set and see.
import type { ApiKeyRow } from "../../db/keys/api_keys.ts";
import type { AuditEntry } from "../../domain/access/audit.ts";
import { AppError, validationError } from "../../domain/errors.ts";
import { metadataKeysMax } from "../../domain/limits.ts";
import { type Access, isOperator, requirePermission } from "../access/mod.ts";

export interface KeyFields {
  /** CIDR blocks; null for any address. */
  readonly addresses?: readonly string[] | null | undefined;
  /** Null for that of the plan. */
  readonly requestsPerSecond?: number | null | undefined;
  /** An operator's own id for the key; null for none. */
  readonly externalId?: string | null | undefined;
  /** An operator's own data: values to set by name, and null for names to remove. */
  readonly metadata?: Readonly<Record<string, string | null>> | undefined;
}

export type StoredFields = Pick<ApiKeyRow, "addresses" | "requestsPerSecond" | "externalId" | "metadata">;

export const noFields: StoredFields = {
  addresses: null,
  requestsPerSecond: null,
  externalId: null,
  metadata: "{}",
};

/** @throws {AppError} `forbidden` if any of the fields is set. */
export function requireFieldsAllowed(access: Access, fields: KeyFields): void {
  if (Object.values(fields).some((value) => value !== undefined)) {
    requirePermission(access, "apiKeys.manageAll");
  }
  if ((fields.externalId !== undefined || fields.metadata !== undefined) && !isOperator(access)) {
    throw new AppError("forbidden", "Only the operator of this service sets this.");
  }
}

/** Returns the fields as stored, after a change of those that it has. @throws {AppError} `validation_failed` for too much metadata. */
export function storedFields(
  { addresses, requestsPerSecond, externalId, metadata }: KeyFields,
  from: StoredFields,
): StoredFields {
  return {
    addresses: addresses === undefined ? from.addresses : addresses && JSON.stringify(addresses),
    requestsPerSecond: requestsPerSecond === undefined ? from.requestsPerSecond : requestsPerSecond,
    externalId: externalId === undefined ? from.externalId : externalId,
    metadata: metadata === undefined ? from.metadata : mergedMetadata(from.metadata, metadata),
  };
}

function mergedMetadata(from: string, change: Readonly<Record<string, string | null>>): string {
  const merged = new Map<string, string>(Object.entries(JSON.parse(from)));
  for (const [key, value] of Object.entries(change)) {
    if (value === null) merged.delete(key);
    else merged.set(key, value);
  }
  if (merged.size > metadataKeysMax) {
    throw validationError([{ path: "metadata", message: `must have at most ${metadataKeysMax} keys.` }]);
  }
  return JSON.stringify(Object.fromEntries(merged));
}

const actions = {
  addresses: "api_key.addresses_changed",
  requestsPerSecond: "api_key.rate_changed",
} as const;
const hiddenActions = {
  externalId: "api_key.external_id_changed",
  metadata: "api_key.metadata_changed",
} as const;

type ShownFields = Pick<StoredFields, keyof typeof actions>;

const names = Object.keys(actions) as (keyof ShownFields)[];

function textsOf({ addresses, requestsPerSecond }: ShownFields): Record<keyof ShownFields, string | null> {
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

/**
 * Returns the actions in the audit log for the fields that change, with their details. Customers read the log, so it doesn't say
 * what only operators see.
 */
export function fieldChanges(
  before: StoredFields,
  after: StoredFields,
): Pick<AuditEntry, "action" | "details">[] {
  const [from, to] = [textsOf(before), textsOf(after)];
  const hidden = (Object.keys(hiddenActions) as (keyof typeof hiddenActions)[])
    .filter((name) => before[name] !== after[name]).map((name) => ({ action: hiddenActions[name] }));
  const shown = names.filter((name) => from[name] !== to[name]).map((name) => ({
    action: actions[name],
    details: { from: from[name] ?? "none", to: to[name] ?? "none" },
  }));
  return [...shown, ...hidden];
}
