// The SQL of mappings, and of events that were not recorded.
import type { EventMapping, MappingFault } from "../../domain/meter/event_mapping.ts";
import { type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";

/** Events that were not recorded are kept up to this number. */
const faultsMax = 1_000;

export interface StoredMapping extends EventMapping {
  readonly createdAt: number;
}

interface MappingRow extends Omit<StoredMapping, "source" | "metrics" | "properties"> {
  readonly source: string;
  readonly metrics: string;
  readonly properties: string;
}

const selectMappings = sql`SELECT m.id, m.name, m.type, m.source, m.metrics, m.properties, m.subject,
    m.created_at AS createdAt FROM event_mappings m`;

function toMapping({ source, metrics, properties, ...row }: MappingRow): StoredMapping {
  return {
    ...row,
    source: source || null,
    metrics: JSON.parse(metrics),
    properties: JSON.parse(properties),
  };
}

/** Returns mappings, the oldest first, from after the id `after`. */
export async function findMappings(
  database: DatabaseReader,
  { limit, after = "" }: { limit: number; after?: string | undefined },
): Promise<StoredMapping[]> {
  const rows = await database.read<MappingRow>(
    sql`${selectMappings} WHERE m.id > ${after} ORDER BY m.id LIMIT ${limit}`,
  );
  return rows.map(toMapping);
}

export async function findMapping(database: DatabaseReader, id: string): Promise<StoredMapping | undefined> {
  const row = await database.readFirst<MappingRow>(sql`${selectMappings} WHERE m.id = ${id}`);
  return row && toMapping(row);
}

/** Finds the mappings of some types of events. */
export async function findMappingsOf(
  database: DatabaseReader,
  types: readonly string[],
): Promise<StoredMapping[]> {
  const rows = await database.read<MappingRow>(sql`${selectMappings}
    WHERE m.type IN (SELECT value FROM json_each(${JSON.stringify(types)}))`);
  return rows.map(toMapping);
}

const columnsOf = ({ name, type, source, metrics, properties, subject }: EventMapping) =>
  sql`${name}, ${type}, ${source ?? ""}, ${JSON.stringify(metrics)}, ${
    JSON.stringify(properties)
  }, ${subject}`;

/** Inserts a mapping, unless there is one for its type and source, or there are `mappingsMax`. */
export function insertMapping(
  mapping: EventMapping,
  { now, mappingsMax }: { now: number; mappingsMax: number },
): Statement {
  return sql`INSERT INTO event_mappings (id, name, type, source, metrics, properties, subject, created_at)
    SELECT ${mapping.id}, ${
    columnsOf(mapping)
  }, ${now} WHERE (SELECT count(*) FROM event_mappings) < ${mappingsMax}
    ON CONFLICT DO NOTHING`;
}

/** Changes a mapping, unless another one has its type and source. */
export function updateMapping(mapping: EventMapping): Statement {
  return sql`UPDATE OR IGNORE event_mappings SET (name, type, source, metrics, properties, subject)
    = (${columnsOf(mapping)}) WHERE id = ${mapping.id}`;
}

export const deleteMappingRow = (id: string): Statement => sql`DELETE FROM event_mappings WHERE id = ${id}`;

/** An event that was not recorded, without its data. */
export interface EventFault extends Omit<MappingFault, "code"> {
  readonly at: number;
  readonly type: string;
  readonly source: string;
  readonly eventId: string;
  readonly subject: string | null;
  readonly code: string;
}

/** Notes events that were not recorded, in place of the oldest. */
export function noteFaults(faults: readonly EventFault[]): Statement[] {
  const list = JSON.stringify(faults);
  const of = (name: keyof EventFault) => sql`(e.value ->> ${name})`;
  return [
    sql`INSERT INTO event_faults (at, type, source, event_id, subject, code, path, message)
      SELECT ${of("at")}, ${of("type")}, ${of("source")}, ${of("eventId")}, ${of("subject")}, ${of("code")},
        ${of("path")}, ${of("message")} FROM json_each(${list}) e ORDER BY e.key`,
    sql`DELETE FROM event_faults WHERE number IN (SELECT number FROM event_faults
      WHERE number <= (SELECT max(number) FROM event_faults) - ${integer(faultsMax)} ORDER BY number
      LIMIT ${faults.length})`,
  ];
}

/** Returns events that were not recorded, the newest first, from before the number `before`. */
export function findFaults(
  database: DatabaseReader,
  { limit, before }: { limit: number; before?: number | undefined },
): Promise<(EventFault & { readonly number: number })[]> {
  return database.read(sql`SELECT number, at, type, source, event_id AS eventId, subject, code, path, message
    FROM event_faults WHERE number < ${
    before ?? Number.MAX_SAFE_INTEGER
  } ORDER BY number DESC LIMIT ${limit}`);
}
