// The SQL that finds the organizations that an operator records for.
import { type DatabaseReader, joinSql, sql, type Statement } from "../engine/database.ts";
import { organizationOf } from "./environments.ts";

/** An organization is named by its own id, by that of the operator's systems, or by the id of a key of it. */
export const recordTargetKinds = ["organizationId", "externalId", "apiKeyId"] as const;

/** An organization, or a key of it. */
export interface RecordTarget {
  readonly kind: (typeof recordTargetKinds)[number];
  readonly id: string;
}

interface FoundRecordTarget extends RecordTarget {
  readonly organizationId: string;
}

const organizations = {
  organizationId: sql`organizations o ON o.id = e.value`,
  externalId: sql`organizations o ON o.external_id = e.value`,
  apiKeyId: sql`api_keys k ON k.id = e.value JOIN organizations o ON o.id = k.organization_id`,
} as const;

/** @returns The records of the current group with earlier timestamps, by organization, for `insertAuditEvents`. */
export const backdatedRecords = (before: number): Statement =>
  sql`SELECT o.id AS organizationId, NULL AS targetId, NULL AS targetName,
      json_object('records', CAST(count(*) AS TEXT), 'from', strftime('%Y-%m-%d', min(r.timestamp) / 1000, 'unixepoch'),
        'to', strftime('%Y-%m-%d', max(r.timestamp) / 1000, 'unixepoch')) AS details
    FROM usage_records r JOIN organizations o ON o.number = ${organizationOf(sql`r.organization`)}
    WHERE r.seq > (SELECT seq FROM usage_cursor) AND r.timestamp < ${before} GROUP BY o.id`;

/** Finds those of the targets that exist; keys that don't work anymore included. */
export function findRecordTargets(
  database: DatabaseReader,
  targets: readonly RecordTarget[],
): Promise<FoundRecordTarget[]> {
  const found = recordTargetKinds.map((kind) => {
    const ids = new Set(targets.filter((target) => target.kind === kind).map(({ id }) => id));
    return sql`SELECT ${kind} AS kind, e.value AS id, o.id AS organizationId
      FROM json_each(${JSON.stringify([...ids])}) e JOIN ${organizations[kind]} AND o.deleted_at IS NULL`;
  });
  return database.read(joinSql(found, " UNION ALL "));
}
