// A group of requests that the recorder commits together: how it is sent to the database, and the SQL that reads it there. In
// all texts ?3 is the time.
import type { Quantity } from "../../domain/meter/quantity.ts";
import { idempotencyKeyHash } from "../../domain/meter/usage_record.ts";
import {
  activeOperatorToken,
  isSuspended,
  keyMay,
  type KeyTerms,
  planFeatures,
  workingApiKey,
} from "../access/mod.ts";
import { integer, sql, type Statement } from "../engine/database.ts";

/** If the database has limits, limits per value or dimensions that a group doesn't count, nothing is recorded. */
export interface GroupFacts {
  readonly hasLimits: boolean;
  /** True if any of them is per value. */
  readonly hasValueLimits: boolean;
  readonly hasDimensions: boolean;
  /** True if there are active holds. Without, a request that they leave no room for is retried, because they may have expired. */
  readonly hasHolds: boolean;
}

/** Requests that are recorded together. No idempotency key of an organization may occur twice. */
export interface RecordGroup extends GroupFacts {
  readonly now: number;
  /** API keys, some of them verified by an operator; or an operator on behalf of organizations. */
  readonly by: keyof typeof targetsBy;
  /**
   * Distinct: hashes of API keys, or verified targets of {@linkcode targetOfKey}, but not both of one key; for an operator, ids of organizations
   * and of API keys.
   */
  readonly targets: readonly string[];
  readonly series: readonly (readonly [target: string, productSlug: string, metric: string])[];
  /** See {@linkcode RecordEncoder}. */
  readonly records: readonly string[];
  readonly idempotencyKeys: number;
  /** The numbers of the requests that ask before they are served. Cutoff limits deny these, and no others. */
  readonly questions: readonly number[];
  /** True if products and metrics must be in the catalogue. */
  readonly isCatalogueRequired: boolean;
  /**
   * True if all series existed recently, and their keys were noted as used. Then nothing is looked for that may be missing, and if
   * a series doesn't exist or may not be recorded, nothing is.
   */
  readonly isSeriesKnown: boolean;
  /** True if no limit rejects the requests. */
  readonly isUnlimited?: boolean;
}

/** The SQL of what a group records for: API keys `k`, or organizations `o`. */
export interface TargetKind {
  /** Joins the organization `o` of a target that exists. */
  readonly join: (target: Statement) => Statement;
  /** The reason why nothing may be recorded for the target, or null. */
  readonly denial: (target: Statement) => Statement;
  readonly apiKey: Statement;
  /** The hashes of the API keys of the targets `?1`, if they were used. */
  readonly usedKeys?: Statement;
}

/** True if nothing was recorded because the database has limits or dimensions that the group doesn't count. */
export function isOutdated(
  group: Pick<RecordGroup, (typeof requiredFacts)[number]>,
  now: Readonly<Record<(typeof requiredFacts)[number], boolean | null>>,
): boolean {
  return requiredFacts.some((fact) => now[fact] === true && !group[fact]);
}

const requiredFacts = ["hasLimits", "hasValueLimits", "hasDimensions"] as const;

const hashDigits = 64;

/** In place of the hash of a token, where no operator verifies the key: `hex(zeroblob(32))` in SQL. */
const noToken = "0".repeat(hashDigits);
const toRecord = { tokenHash: noToken, permissions: ["usage:write"], features: [] } as const;

/**
 * Names an API key in a group: its hash, in hexadecimal, or a verified target, which also has what the transaction that records
 * checks besides the key.
 *
 * @param terms `addresses`: those that the client's address was checked against. Nothing is recorded if the key has others now.
 */
export function targetOfKey(
  keyHash: string,
  verification: RecordVerification | undefined,
  { addresses }: Pick<KeyTerms, "addresses">,
): string {
  if (verification === undefined && addresses === null) return keyHash;
  const { tokenHash, permissions, features } = verification ?? toRecord;
  return `${keyHash} ${tokenHash} ${JSON.stringify([permissions, features, addresses])}`;
}

export function keyHashOf(target: string): string {
  return target.slice(0, hashDigits);
}

export function isVerified(target: string): boolean {
  return target.length > hashDigits;
}

/** The conditions of an operator who records with an API key. */
export interface RecordVerification {
  /** The hash of the operator's token, which must be allowed to verify keys. */
  readonly tokenHash: string;
  /** Permissions that the key must have, instead of the one to record. */
  readonly permissions: readonly string[];
  /** Features that the plan of its organization must include. */
  readonly features: readonly string[];
}

const withKey = (keyHash: Statement): Statement =>
  sql`JOIN api_keys k ON k.key_hash = ${keyHash} AND ${workingApiKey(sql`?3`)}
    JOIN organizations o ON o.id = k.organization_id`;
const mayNotWrite = sql`NOT ${keyMay("usage:write")}`;

/** The hash of an API key. */
const keyTarget: TargetKind = {
  join: withKey,
  denial: () =>
    sql`CASE WHEN k.addresses IS NOT NULL THEN 'addresses' WHEN ${isSuspended} THEN 'suspended' WHEN ${mayNotWrite} THEN 'permission' END`,
  apiKey: sql`k.number`,
  usedKeys: sql`SELECT value FROM json_each(?1)`,
};

/** The hash of an API key, or a verified target. */
const verifiedKeyTarget: TargetKind = {
  ...keyTarget,
  join: (target) => withKey(hashAt(target, 0)),
  denial: (target) =>
    sql`CASE WHEN ${lacksToken(target)} THEN 'token'
      WHEN k.addresses IS NOT iif(length(${target}) = ${integer(hashDigits)}, NULL, ${
      conditionsOf(target)
    } ->> '$[2]') THEN 'addresses'
      WHEN ${isSuspended} THEN 'suspended'
      WHEN CASE length(${target}) WHEN ${integer(hashDigits)} THEN ${mayNotWrite} ELSE EXISTS (
        SELECT 1 FROM json_each(${conditionsOf(target)}, '$[0]') p
        WHERE p.value NOT IN (SELECT value FROM json_each(k.permissions))) END THEN 'permission'
      WHEN CASE WHEN length(${target}) > ${integer(hashDigits)} THEN EXISTS (
        SELECT 1 FROM json_each(${conditionsOf(target)}, '$[1]') f
        WHERE f.value NOT IN (SELECT value FROM json_each(${planFeatures}))) END THEN 'feature' END`,
  usedKeys: sql`SELECT ${hashAt(sql`value`, 0)} FROM json_each(?1) WHERE NOT ${lacksToken(sql`value`)}`,
};

function lacksToken(target: Statement): Statement {
  return sql`(length(${target}) > ${integer(hashDigits)} AND ${
    hashAt(target, 1)
  } <> hex(zeroblob(32)) AND NOT EXISTS (
        SELECT 1 FROM operator_tokens t WHERE t.token_hash = ${hashAt(target, 1)}
        AND ${activeOperatorToken(sql`?3`)} AND instr(t.scopes, '"keys:verify"') > 0))`;
}

/** The hash at a position of a verified target. */
function hashAt(target: Statement, position: 0 | 1): Statement {
  return sql`substr(${target}, ${integer(position * (hashDigits + 1) + 1)}, ${integer(hashDigits)})`;
}

/** The permissions and the features that a verified target requires, and its addresses, as a JSON list. */
function conditionsOf(target: Statement): Statement {
  return sql`substr(${target}, ${integer(2 * (hashDigits + 1) + 1)})`;
}

/** The id of an organization, or of an API key, also of one that doesn't work anymore. */
const operatorTarget: TargetKind = {
  join: (target) =>
    sql`LEFT JOIN api_keys k ON k.id = ${target}
    JOIN organizations o ON o.id = coalesce(k.organization_id, ${target}) AND o.deleted_at IS NULL`,
  // Always null. Names the time, because a server rejects values that a statement doesn't name.
  denial: () => sql`nullif(?3, ?3)`,
  apiKey: sql`coalesce(k.number, 0)`,
};

/** As {@linkcode operatorTarget}, for new holds: the organization and the key must work. */
const heldTarget: TargetKind = {
  ...operatorTarget,
  denial: () =>
    sql`CASE WHEN ${isSuspended} THEN 'suspended' WHEN k.number IS NOT NULL AND NOT (${
      workingApiKey(sql`?3`)
    }) THEN 'inactive' END`,
};

export const targetsBy = {
  keys: keyTarget,
  verifiedKeys: verifiedKeyTarget,
  operator: operatorTarget,
  operatorHolds: heldTarget,
};

interface GroupRecord {
  /** Index in the series of the group. */
  readonly series: number;
  /** Number of the request, whose records are all inserted or none. */
  readonly request: number;
  /** Milliseconds since 1970, which a repeat must have too; null for the time of recording. */
  readonly timestamp: number | null;
  readonly quantity: Quantity;
  readonly idempotencyKey: string | null;
  /** See `propertiesText`. */
  readonly properties: string | null;
}

/**
 * Each record is sent as one text of fixed-width fields, decimal numbers from 0, then the idempotency key and the properties:
 * SQLite reads a field of a text in a third of the time that an element of a JSON array takes.
 */
const fieldWidths = {
  series: 5,
  request: 5,
  isTimestampGiven: 1,
  timestamp: 14,
  whole: 16,
  micro: 6,
  idempotencyHash: 15,
  idempotencyKeyLength: 3,
} as const;

/** The index of the first field after the fixed ones, from 1. */
let nextField = 1;
/** Reads a field of the record `e.value`. */
export const field = Object.fromEntries(
  Object.entries(fieldWidths).map(([name, width]) => {
    const start = nextField;
    nextField += width;
    return [name, sql`CAST(substr(e.value, ${integer(start)}, ${integer(width)}) AS INTEGER)`];
  }),
) as Record<keyof typeof fieldWidths, Statement>;
/** Its idempotency key, empty without one. */
export const idempotencyKeyOfRecord = sql`substr(e.value, ${
  integer(nextField)
}, ${field.idempotencyKeyLength})`;
/** Its properties, null without any. */
export const propertiesOfRecord = sql`nullif(substr(e.value, ${
  integer(nextField)
} + ${field.idempotencyKeyLength}), '')`;

/** Encodes the records of one group. Shared values are formatted once. */
export class RecordEncoder {
  readonly #nowField: string;
  /** The indexes of series and requests as texts. */
  readonly #indexFields: string[] = [];

  constructor(now: number) {
    this.#nowField = "0" + digits(now, fieldWidths.timestamp);
  }

  encode(record: GroupRecord): string {
    const { timestamp, idempotencyKey, quantity: { whole, micro } } = record;
    return this.#indexField(record.series) + this.#indexField(record.request) +
      (timestamp === null ? this.#nowField : "1" + digits(timestamp, fieldWidths.timestamp)) +
      digits(whole, fieldWidths.whole) + (micro === 0 ? noMicro : digits(micro, fieldWidths.micro)) +
      (idempotencyKey === null ? noIdempotencyKey : idempotencyFields(idempotencyKey)) +
      (record.properties ?? "");
  }

  #indexField(index: number): string {
    return this.#indexFields[index] ??= digits(index, fieldWidths.series);
  }
}

function idempotencyFields(key: string): string {
  return digits(idempotencyKeyHash(key), fieldWidths.idempotencyHash) +
    digits(key.length, fieldWidths.idempotencyKeyLength) +
    key;
}

/** Returns the index of an encoded record's series. */
export function seriesOf(record: string | undefined): number {
  return Number(record?.slice(0, fieldWidths.series));
}

/** Returns the properties of an encoded record. */
export function propertiesIn(record: string): Readonly<Record<string, string>> | null {
  const keyEnd = nextField - 1;
  const text = record.slice(keyEnd + Number(record.slice(keyEnd - fieldWidths.idempotencyKeyLength, keyEnd)));
  return text === "" ? null : JSON.parse(text);
}

const zeros = "0".repeat(20);
const noMicro = digits(0, fieldWidths.micro);
const noIdempotencyKey = digits(0, fieldWidths.idempotencyHash + fieldWidths.idempotencyKeyLength);

/** Pads with zeros, several times as fast as `padStart()`. */
function digits(value: number, width: number): string {
  const text = String(value);
  return zeros.slice(text.length, width) + text;
}
