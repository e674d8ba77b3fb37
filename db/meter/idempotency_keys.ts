// The SQL of the index of idempotency keys: three tables, recent, middle and settled, ordered by the keys' hashes. New keys
// go into the small one and move on in ranges of hashes, some with each commit: random keys in one large index would write a
// page for each record. See docs/decisions/0007.
import { keysMiddleMax, keysRecentMax } from "../../domain/limits.ts";
import { idempotencyHashSpace } from "../../domain/meter/usage_record.ts";
import { bind, integer, joinSql, sql, type Statement } from "../engine/database.ts";

const [recent, middle, settled] = [sql`usage_keys_recent`, sql`usage_keys_middle`, sql`usage_keys_settled`];
const hashSpace = integer(idempotencyHashSpace);

/** Whether the current transaction has inserted a record after the cursor `c`; otherwise it writes nothing else. */
export const hasRecorded = sql`EXISTS (SELECT 1 FROM usage_records n WHERE n.seq > c.seq)`;

/**
 * The same key in two organizations has two hashes, so that neither makes the other slow to look up.
 *
 * @param hash The key's own hash. @param organization The organization's number, below 2^31.
 * @returns The hash in the index.
 */
export function indexHash(hash: Statement, organization: Statement): Statement {
  return sql`((${hash} + ${organization} * 2654435761) & ${integer(idempotencyHashSpace - 1)})`;
}

/**
 * Looks up every key in each of the tables. Reads no records: hardly any hash is found that isn't a key's.
 *
 * @param columns Of `q`, and `k.seq`.
 * @param keyed A table with the `hash` to look for. The records found may have another key, or be deleted.
 */
export function lookUpKeys(columns: Statement, keyed: Statement): Statement {
  return joinSql(
    [recent, middle, settled].map((table) =>
      sql`SELECT ${columns} FROM ${keyed} q CROSS JOIN ${table} k ON k.hash = q.hash`
    ),
    " UNION ALL ",
  );
}

/** The two moves: the column of the cursor that a move sweeps with, and how many new keys one sweep lasts. */
const moves = [
  { from: recent, to: middle, column: sql`recent_moved`, keysPerSweep: keysRecentMax },
  { from: middle, to: settled, column: sql`middle_moved`, keysPerSweep: keysMiddleMax },
] as const;

const moveStatements = moves.map(({ from, to, column, keysPerSweep }) => {
  // Null when nothing was recorded; then no key is in the range.
  const first = sql`(SELECT c.${column} FROM usage_cursor c WHERE ${hasRecorded})`;
  const range = sql`FROM ${from} WHERE hash >= ${first} AND hash < ${first} + ?1`;
  const statements = [sql`INSERT INTO ${to} (hash, seq) SELECT hash, seq ${range}`, sql`DELETE ${range}`];
  return { statements, hashesPerKey: idempotencyHashSpace / keysPerSweep };
});

/**
 * Moves keys on in proportion to how many are new. Runs after the records were inserted and before the cursor moves.
 *
 * @param keys How many are new.
 */
export function moveKeys(keys: number): Statement[] {
  return moveStatements.flatMap(({ statements, hashesPerKey }) =>
    statements.map((statement) => bind(statement, keys * hashesPerKey))
  );
}

/** Moves the cursor's positions on; `?2` is how many keys are new. */
export const movedPositions = joinSql(
  moves.map(({ column, keysPerSweep }) => {
    const next = sql`${column} + ?2 * ${integer(idempotencyHashSpace / keysPerSweep)}`;
    return sql`${column} = iif(${next} >= ${hashSpace}, 0, ${next})`;
  }),
  ", ",
);

/**
 * @param organization The organization's number.
 * @param keys The own hash of each key, and the `seq` of its record.
 * @returns Statements that delete the keys from whichever table they have moved to.
 */
export function deleteKeys(organization: Statement, keys: readonly (readonly [hash: number, seq: number])[]) {
  const hash = indexHash(sql`(e.value ->> 0)`, organization);
  return [recent, middle, settled].map((table) =>
    sql`DELETE FROM ${table} WHERE (hash, seq) IN (
      SELECT ${hash}, e.value ->> 1 FROM json_each(${JSON.stringify(keys)}) e)`
  );
}

/** How often the sweep covers all settled keys while as many records are deleted as are kept: about one key in five is stale. */
const cleanSweeps = 5;

/**
 * Deletes some of the settled keys of deleted records, in proportion to how many are being deleted. A stale key does no
 * harm: its record is looked up and not found.
 *
 * @param deleted How many records are being deleted.
 */
export function cleanKeys(deleted: number): Statement[] {
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
