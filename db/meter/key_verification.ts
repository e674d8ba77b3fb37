// The SQL that verifies API keys for operators: tokens and keys of many requests with one statement.
import type { Environment } from "../../domain/environment.ts";
import type { VerifiedOrganization } from "../../domain/meter/key_verification.ts";
import {
  type LimitStandingRow,
  selectStandings,
  type StandingColumns,
  toStandingRow,
} from "./limit_standings.ts";
import { isApplied } from "./usage_limits.ts";
import { hasValueLimits } from "./value_limits.ts";
import { bind, type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import {
  type ActiveOperatorToken,
  activeOperatorToken,
  type KeyTerms,
  keyTerms,
  planFeatures,
} from "../access/mod.ts";

/** A key, working or not, with its organization. */
export interface VerifiableKey extends KeyTerms {
  readonly id: string;
  readonly name: string;
  readonly permissions: readonly string[];
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly isDisabled: boolean;
  readonly externalId: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly lastUsedAt: number | null;
  readonly environment: Environment;
  /** Null after its deletion, which revoked the key. */
  readonly organization: VerifiedOrganization & { readonly isSuspended: boolean } | null;
}

/** The usage that a verification asks about: of a key, given by its hash. */
type UsageQuestion = readonly [keyHash: string, productSlug: string, metric: string];

export interface FoundCredentials {
  /** Working tokens by hash. */
  readonly tokens: ReadonlyMap<string, ActiveOperatorToken>;
  readonly keys: ReadonlyMap<string, VerifiableKey>;
  /** For each question of usage: the limits that apply. */
  readonly limits: readonly (readonly LimitStandingRow[])[];
  /** True if any limit is per value; they aren't in `limits`. Only with questions of usage. */
  readonly hasValueLimits: boolean;
  readonly now: number;
}

/** The key `k` of the organization `o`, for {@linkcode toVerifiableKey}. */
export const verifiableKey = sql`json_array(k.id, k.name, json(k.permissions), k.expires_at, k.revoked_at,
    k.last_used_at, k.environment, ${keyTerms.requestsPerSecond},
    iif(o.deleted_at IS NULL, json_array(o.id, o.name, o.external_id,
      (SELECT p.id FROM plans p WHERE p.number = o.plan), o.suspended_at, json(${planFeatures})), NULL),
    k.disabled_at, ${keyTerms.ownRequestsPerSecond}, ${keyTerms.addresses}, k.external_id,
    json(k.metadata))`;

export type VerifiableKeyRow = [
  id: string,
  name: string,
  permissions: readonly string[],
  expiresAt: number | null,
  revokedAt: number | null,
  lastUsedAt: number | null,
  environment: Environment,
  requestsPerSecond: number | null,
  organization:
    | [
      id: string,
      name: string,
      externalId: string | null,
      planId: string,
      suspendedAt: number | null,
      features: readonly string[],
    ]
    | null,
  disabledAt: number | null,
  ownRequestsPerSecond: number | null,
  addresses: string | null,
  externalId: string | null,
  metadata: Readonly<Record<string, string>>,
];

// One JSON column for three lists of rows, so that they are one read.
const selectWith = (more: Statement, standings = sql``): Statement =>
  sql`${standings} SELECT json_array(
  (SELECT json_group_array(json_array(t.token_hash, t.id, t.name, t.scopes, t.addresses, t.last_used_at))
    FROM operator_tokens t
    WHERE t.token_hash IN (SELECT value FROM json_each(?1)) AND ${activeOperatorToken(sql`?3`)}),
  (SELECT json_group_array(json_array(k.key_hash, ${verifiableKey}))
    FROM api_keys k JOIN organizations o ON o.id = k.organization_id
    WHERE k.key_hash IN (SELECT value FROM json_each(?2)))${more}) AS rows`;
const select = selectWith(sql``);
// A server's parser has a stack of 100 entries, so that standings come first.
const selectWithLimits = selectWith(
  sql`, ${hasValueLimits},
  (SELECT json_group_array(json_object('question', s.question, 'limitId', s.limitId, 'organization', s.organization,
      'productSlug', s.productSlug, 'metric', s.metric, 'per', s.per, 'lineage', s.lineage, 'mode', s.mode,
      'quantityLow', s.quantityLow, 'quantityMicro', s.quantityMicro, 'timezone', s.timezone, 'isKnown', s.isKnown,
      'held', s.held, 'reserved', s.reserved,
      'high', s.high, 'low', s.low, 'micro', s.micro))
    FROM standings s)`,
  sql`WITH standings AS (${
    selectStandings({
      columns: sql`CAST(e.key AS INTEGER) AS question,`,
      from: sql`json_each(?4) e CROSS JOIN api_keys k ON k.key_hash = e.value ->> 0 AND k.environment = 'live'
      JOIN organizations o ON o.id = k.organization_id`,
      applied: isApplied({
        lineage: sql`k.lineage`,
        series: { productSlug: sql`(e.value ->> 1)`, metric: sql`(e.value ->> 2)` },
      }),
      now: sql`CAST(?3 AS INTEGER)`,
    })
  })`,
);

type TokenRow = [
  hash: string,
  id: string,
  name: string,
  scopes: string,
  addresses: string,
  lastUsedAt: number | null,
];
type FoundRows = [
  tokens: TokenRow[],
  keys: [hash: string, key: VerifiableKeyRow][],
  isByValue?: 0 | 1,
  standings?: (StandingColumns & { readonly question: number })[],
];

/** Finds operator tokens and API keys by the SHA-256 of each, in hexadecimal. Read each time, so that nothing is stale. */
export async function findCredentials(
  database: DatabaseReader,
  { tokenHashes, keyHashes, usage, now }: {
    readonly tokenHashes: readonly string[];
    readonly keyHashes: readonly string[];
    readonly usage: readonly UsageQuestion[];
    readonly now: number;
  },
): Promise<FoundCredentials> {
  const hashes = [JSON.stringify(tokenHashes), JSON.stringify(keyHashes)] as const;
  const found = await database.readFirst<{ rows: string }>(
    usage.length === 0
      ? bind(select, ...hashes, now)
      : bind(selectWithLimits, ...hashes, now, JSON.stringify(usage)),
  );
  const [tokens, keys, isByValue = 0, standings = []] = JSON.parse(found?.rows ?? "[[],[]]") as FoundRows;
  const limits: LimitStandingRow[][] = usage.map(() => []);
  for (const { question, ...row } of standings) limits[question]?.push(toStandingRow(row));
  return {
    limits,
    hasValueLimits: isByValue === 1,
    now,
    tokens: new Map(tokens.map(([hash, id, name, scopes, addresses, lastUsedAt]) => [
      hash,
      { id, name, scopes, addresses, lastUsedAt },
    ])),
    keys: new Map(keys.map(([hash, row]) => [hash, toVerifiableKey(row)])),
  };
}

export function toVerifiableKey(row: VerifiableKeyRow): VerifiableKey {
  const [
    id,
    name,
    permissions,
    expiresAt,
    revokedAt,
    lastUsedAt,
    environment,
    requestsPerSecond,
    organization,
    disabledAt,
    ownRequestsPerSecond,
    addresses,
    externalId,
    metadata,
  ] = row;
  return {
    id,
    name,
    permissions,
    expiresAt,
    revokedAt,
    isDisabled: disabledAt !== null,
    lastUsedAt,
    environment,
    requestsPerSecond,
    ownRequestsPerSecond,
    addresses,
    externalId,
    metadata,
    organization: organization && toOrganization(organization),
  };
}

function toOrganization(
  [id, name, externalId, planId, suspendedAt, features]: NonNullable<VerifiableKeyRow[8]>,
) {
  return { id, name, externalId, planId, features, isSuspended: suspendedAt !== null };
}
