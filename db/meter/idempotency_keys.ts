// The SQL of the index of idempotency keys: three tables, recent, middle and settled, in order of the keys' hashes. New keys
// go into the small one and move on by neighbourhoods, a few with each commit. Random keys in one large index would write a
// page for each record. See docs/decisions/0007.
import { keysMiddleMax, keysRecentMax } from "../../domain/limits.ts";
import { idempotencyHashSpace } from "../../domain/meter/usage_record.ts";
import { sql, type Statement } from "../engine/database.ts";

/** Names of the tables, in the order in which a key passes through them. */
const tables = ["usage_keys_recent", "usage_keys_middle", "usage_keys_settled"] as const;

/** Whether any record was inserted by the transaction that runs: nothing recorded, nothing else written. */
export const somethingRecorded = "EXISTS (SELECT 1 FROM usage_records n WHERE n.seq > c.seq)";

/**
 * The same key in two organizations has two hashes, so that neither makes the other slow to look up.
 *
 * @param hash SQL of the key's own hash. @param organization SQL of the organization's number, below 2^31.
 * @returns SQL of the hash in the index.
 */
export function indexHash(hash: string, organization: string): string {
  return `((${hash} + ${organization} * 2654435761) & ${idempotencyHashSpace - 1})`;
}

/**
 * @param columns SQL of what is wanted of `q` and of the record `r` that has its key.
 * @param keyed A table with the `hash`, `organization` and `idempotency_key` of what to look for.
 * @returns SQL that looks every key up in each of the tables.
 */
export function lookUpKeys(columns: string, keyed: string): string {
  return tables.map((table) =>
    `SELECT ${columns} FROM ${keyed} q CROSS JOIN ${table} k ON k.hash = q.hash
     CROSS JOIN usage_records r ON r.seq = k.seq AND r.organization = q.organization
       AND r.idempotency_key = q.idempotency_key`
  ).join(" UNION ALL ");
}

/** What each of the two moves sweeps over, and how many keys come in while it goes around once. */
const moves = [
  { from: tables[0], to: tables[1], position: "recent_moved", round: keysRecentMax },
  { from: tables[1], to: tables[2], position: "middle_moved", round: keysMiddleMax },
] as const;

/**
 * Moves keys on, in proportion to how many came in, after the records were inserted and before the cursor moves.
 *
 * @param keys How many came in.
 */
export function moveKeys(keys: number): Statement[] {
  return moves.flatMap(({ from, to, position, round }) => {
    const width = keys * (idempotencyHashSpace / round);
    // Without a record there is no position, and with no position nothing is moved.
    const first = `(SELECT c.${position} FROM usage_cursor c WHERE ${somethingRecorded})`;
    const range = `FROM ${from} WHERE hash >= ${first} AND hash < ${first} + ?1`;
    return [
      sql(`INSERT INTO ${to} (hash, seq) SELECT hash, seq ${range}`, width),
      sql(`DELETE ${range}`, width),
    ];
  });
}

/** SQL of how the cursor's positions move on; `?2` is how many keys came in. */
export const movedPositions = moves.map(({ position, round }) => {
  const next = `${position} + ?2 * ${idempotencyHashSpace / round}`;
  return `${position} = iif(${next} >= ${idempotencyHashSpace}, 0, ${next})`;
}).join(", ");

/**
 * @param organizationId Whose keys they are: `?1` in the SQL of its number, `options.number`.
 * @param options `keys`: the own hash of each key, and the `seq` of its record.
 * @returns Statements that delete the keys, wherever they have moved to.
 */
export function deleteKeys(
  organizationId: string,
  options: { keys: readonly (readonly [hash: number, seq: number])[]; number: string },
): Statement[] {
  const hash = indexHash("(e.value ->> 0)", options.number);
  return tables.map((table) =>
    sql(
      `DELETE FROM ${table} WHERE (hash, seq) IN (SELECT ${hash}, e.value ->> 1 FROM json_each(?2) e)`,
      organizationId,
      JSON.stringify(options.keys),
    )
  );
}

/** So many times the deleted records are looked at: of the keys that are kept, about one in so many is of none. */
const cleanShare = 5;

/**
 * Cleans some of the settled keys of records that were deleted, in proportion to how many are deleted now. A key that
 * still stands there does no harm: its record is looked for, and not found.
 *
 * @param deleted How many records are deleted.
 */
export function cleanKeys(deleted: number): Statement[] {
  const first = "(SELECT settled_cleaned FROM usage_cursor)";
  const oldest = "coalesce((SELECT min(seq) FROM usage_records), 0)";
  const kept = `((SELECT seq FROM usage_cursor) - ${oldest})`;
  // Both drivers bind numbers as floating ones, and the place to go on from must be a whole one.
  const looks = `max(1, ${kept} / (CAST(?1 AS INTEGER) * ${cleanShare}))`;
  const width = `(${idempotencyHashSpace} / ${looks})`;
  return [
    sql(
      `DELETE FROM usage_keys_settled WHERE hash >= ${first} AND hash < ${first} + ${width} AND seq < ${oldest}`,
      deleted,
    ),
    sql(
      `UPDATE usage_cursor SET settled_cleaned =
         iif(settled_cleaned + ${width} >= ${idempotencyHashSpace}, 0, settled_cleaned + ${width})`,
      deleted,
    ),
  ];
}
