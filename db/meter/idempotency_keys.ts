// The SQL of the index of idempotency keys: three tables, recent, middle and settled, ordered by the keys' hashes. New
// idempotency keys go into the small one and move on in ranges of hashes, some with each commit: random ones in one large index
// would write a page for each record. See docs/decisions/0007.
import { keysMiddleMax, keysRecentMax } from "../../domain/limits.ts";
import { idempotencyHashSpace } from "../../domain/meter/usage_record.ts";
import { bind, integer, joinSql, sql, type Statement } from "../engine/database.ts";

const [recent, middle, settled] = [sql`usage_keys_recent`, sql`usage_keys_middle`, sql`usage_keys_settled`];
const hashSpace = integer(idempotencyHashSpace);

/** True if the current transaction has inserted a record after the cursor `c`; otherwise it writes nothing else. */
export const hasRecorded = sql`EXISTS (SELECT 1 FROM usage_records n WHERE n.seq > c.seq)`;

/**
 * Returns the hash in the index. The same idempotency key in two organizations has two, so that neither makes the other slow to
 * look up.
 *
 * @param hash The idempotency key's own hash. @param organization The organization's number, below 2^31.
 */
export function indexHash(hash: Statement, organization: Statement): Statement {
  return sql`((${hash} + ${organization} * 2654435761) & ${integer(idempotencyHashSpace - 1)})`;
}

/**
 * Looks up hashes in each of the tables. The records found may have another idempotency key, which is rare, or be deleted.
 *
 * @param columns Of `q`, and `k.seq`. @param hashed A table with the `hash` to look for.
 */
export function lookUpIdempotencyKeys(columns: Statement, hashed: Statement): Statement {
  return joinSql(
    [recent, middle, settled].map((table) =>
      sql`SELECT ${columns} FROM ${hashed} q CROSS JOIN ${table} k ON k.hash = q.hash`
    ),
    " UNION ALL ",
  );
}

/** The two moves: the column of the cursor that a move sweeps with, and how many new idempotency keys one sweep lasts. */
const moves = [
  { from: recent, to: middle, column: sql`recent_moved`, keysPerSweep: keysRecentMax },
  { from: middle, to: settled, column: sql`middle_moved`, keysPerSweep: keysMiddleMax },
] as const;

const moveStatements = moves.map(({ from, to, column, keysPerSweep }) => {
  // Null when nothing was recorded; then the range is empty.
  const first = sql`(SELECT c.${column} FROM usage_cursor c WHERE ${hasRecorded})`;
  const range = sql`FROM ${from} WHERE hash >= ${first} AND hash < ${first} + ?1`;
  const statements = [sql`INSERT INTO ${to} (hash, seq) SELECT hash, seq ${range}`, sql`DELETE ${range}`];
  return { statements, hashesPerKey: idempotencyHashSpace / keysPerSweep };
});

/** Moves idempotency keys on in proportion to how many are new, after records were inserted and before the cursor moves. */
export function moveIdempotencyKeys(added: number): Statement[] {
  return moveStatements.flatMap(({ statements, hashesPerKey }) =>
    statements.map((statement) => bind(statement, added * hashesPerKey))
  );
}

/** Moves the cursor's positions on; `?2` is how many idempotency keys are new. */
export const movedPositions = joinSql(
  moves.map(({ column, keysPerSweep }) => {
    const next = sql`${column} + ?2 * ${integer(idempotencyHashSpace / keysPerSweep)}`;
    return sql`${column} = iif(${next} >= ${hashSpace}, 0, ${next})`;
  }),
  ", ",
);

/** Deletes idempotency keys, by their own hashes and the `seq` of their records, from any table they have moved to. */
export function deleteIdempotencyKeys(
  organization: Statement,
  keys: readonly (readonly [hash: number, seq: number])[],
) {
  const hash = indexHash(sql`(e.value ->> 0)`, organization);
  return [recent, middle, settled].map((table) =>
    sql`DELETE FROM ${table} WHERE (hash, seq) IN (
      SELECT ${hash}, e.value ->> 1 FROM json_each(${JSON.stringify(keys)}) e)`
  );
}

/** Sweeps over all settled hashes while as many records are deleted as are kept: about one in five is stale. */
const cleanSweeps = 5;

/**
 * Deletes some of the settled idempotency keys of deleted records, in proportion to how many records are being deleted. A stale
 * one does no harm: its record is looked up and not found.
 */
export function cleanIdempotencyKeys(deleted: number): Statement[] {
  const first = sql`(SELECT settled_cleaned FROM usage_cursor)`;
  const oldest = sql`coalesce((SELECT min(seq) FROM usage_records), 0)`;
  const kept = sql`((SELECT seq FROM usage_cursor) - ${oldest})`;
  // Bound numbers reach SQLite as floating-point, and the position must be an integer.
  const steps = sql`max(1, ${kept} / (CAST(${deleted} AS INTEGER) * ${integer(cleanSweeps)}))`;
  const width = sql`(${hashSpace} / ${steps})`;
  return [
    sql`DELETE FROM usage_keys_settled
      WHERE hash >= ${first} AND hash < ${first} + ${width} AND seq < ${oldest}`,
    sql`UPDATE usage_cursor SET settled_cleaned =
      iif(settled_cleaned + ${width} >= ${hashSpace}, 0, settled_cleaned + ${width})`,
  ];
}
