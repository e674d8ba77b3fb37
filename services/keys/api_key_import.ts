// Operators import the API keys that another system issued, by their hashes: no customer changes a key.
import { type ImportedKeyRow, importKeys, type ImportOutcome } from "../../db/keys/api_key_import.ts";
import { storedBudget } from "../../db/meter/mod.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { validationError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import type { ImportFault } from "../../domain/keys/imported_key.ts";
import { defaultKeyPermissions, sortedPermissions } from "../../domain/keys/key_permissions.ts";
import { errorDetailsMax } from "../../domain/limits.ts";
import type { BudgetLimit } from "../../domain/meter/usage_limit.ts";
import type { SessionContext } from "../context.ts";
import { type KeyFields, noFields, storedFields } from "./key_fields.ts";

type Settings = "addresses" | "requestsPerSecond" | "keyExternalId" | "metadata" | "disabledAt" | "budget";

interface ImportedKeyInput
  extends
    Omit<ImportedKeyRow, "id" | "permissions" | "createdAt" | Settings>,
    Pick<KeyFields, "addresses" | "requestsPerSecond"> {
  /** Default: the permissions of new keys. */
  readonly permissions?: readonly string[] | undefined;
  /** Null for the time of the import. */
  readonly createdAt: number | null;
  /** The operator's own id for the key. */
  readonly keyExternalId?: string | null | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** False: requests with the key are rejected until an operator enables it. */
  readonly enabled?: boolean | undefined;
  /** Default: that of the organization's plan. */
  readonly budget?: readonly BudgetLimit[] | undefined;
}

interface ImportResult {
  readonly imported: number;
  /** Keys that their organization has already. */
  readonly duplicates: number;
  /** By their position in the input. */
  readonly failed: readonly { readonly index: number; readonly code: ImportFault }[];
}

function toStored(
  {
    permissions = defaultKeyPermissions,
    addresses,
    requestsPerSecond,
    keyExternalId,
    metadata,
    enabled = true,
    budget,
    ...key
  }: ImportedKeyInput,
  now: number,
) {
  const fields = { addresses, requestsPerSecond, externalId: keyExternalId, metadata };
  // The key's own id has another name here: that of the row is its organization's.
  const { externalId, ...stored } = storedFields(fields, noFields);
  return {
    ...key,
    ...stored,
    keyExternalId: externalId,
    permissions: sortedPermissions(permissions),
    disabledAt: enabled ? null : now,
    budget: budget === undefined ? null : storedBudget(budget),
  };
}

/**
 * Imports up to 1,000 keys, except for those that exist or that can't be imported. A key that was imported before stays as it is.
 *
 * @throws {AppError} `validation_failed`, and those of an operator who may not write.
 */
export async function importApiKeys(
  { clock, writeAs }: SessionContext,
  actor: OperatorActor,
  inputs: readonly ImportedKeyInput[],
): Promise<ImportResult> {
  const now = clock();
  const keys = inputs.map((input) => toStored(input, now));
  // Ids begin with the time in unsigned milliseconds since 1970.
  const faults = keys.flatMap(({ createdAt }, index) =>
    createdAt === null || (createdAt >= 0 && createdAt <= now)
      ? []
      : [{ path: `keys[${index}].createdAt`, message: "must be in the past, and after 1970." }]
  );
  if (faults.length > 0) throw validationError(faults.slice(0, errorDetailsMax));

  const firstOf = new Map(keys.toReversed().map((key) => [key.keyHash, key]));
  // Lists are sorted by id.
  const rows = keys.filter((key) => firstOf.get(key.keyHash) === key)
    .map((key) => ({
      ...key,
      id: newId("key", key.createdAt ?? undefined),
      createdAt: key.createdAt ?? now,
    }));
  const results = await writeAs(actor, importKeys(actor, rows, now));
  const found = results.at(-1)?.rows as unknown as readonly ImportOutcome[];
  const outcomeOf = new Map(found.map(({ position, outcome }) => [rows[position]?.keyHash, outcome]));
  const outcomes = keys.map((key): ImportOutcome["outcome"] => {
    const first = firstOf.get(key.keyHash);
    const outcome = outcomeOf.get(key.keyHash) ?? "duplicate";
    if (key === first) return outcome;
    if (JSON.stringify(key) !== JSON.stringify(first)) return "hash_repeated";
    return outcome === "imported" ? "duplicate" : outcome;
  });
  return {
    imported: outcomes.filter((outcome) => outcome === "imported").length,
    duplicates: outcomes.filter((outcome) => outcome === "duplicate").length,
    failed: outcomes.flatMap((code, index) =>
      code === "imported" || code === "duplicate" ? [] : [{ index, code }]
    ),
  };
}
