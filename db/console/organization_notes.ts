// All SQL of operators' notes about organizations.
import { type DatabaseReader, sql } from "../engine/database.ts";

export interface OrganizationNoteRow {
  readonly id: string;
  readonly text: string;
  /** A user or an operator token; null for the command line. */
  readonly authorId: string | null;
  readonly authorName: string | null;
  readonly createdAt: number;
}

/** Returns notes, newest first, from after the id `before`. */
export function findOrganizationNotes(
  database: DatabaseReader,
  organizationId: string,
  { limit, before = null }: { limit: number; before?: string | null | undefined },
): Promise<OrganizationNoteRow[]> {
  return database.read(sql`
    SELECT id, text, author_id AS authorId, author_name AS authorName, created_at AS createdAt
    FROM organization_notes WHERE organization_id = ${organizationId} AND (${before} IS NULL OR id < ${before})
    ORDER BY id DESC LIMIT ${limit}`);
}

/** Inserts a note, unless the organization is deleted or has `notesMax` notes. */
export function insertOrganizationNote(
  organizationId: string,
  { id, text, authorId, authorName, createdAt }: OrganizationNoteRow,
  { notesMax }: { notesMax: number },
) {
  return sql`
    INSERT INTO organization_notes (id, organization_id, text, author_id, author_name, created_at)
    SELECT ${id}, o.id, ${text}, ${authorId}, ${authorName}, ${createdAt}
    FROM organizations o WHERE o.id = ${organizationId} AND o.deleted_at IS NULL
      AND (SELECT count(*) FROM organization_notes WHERE organization_id = o.id) < ${notesMax}`;
}

export function deleteOrganizationNoteRow(organizationId: string, id: string) {
  return sql`DELETE FROM organization_notes WHERE organization_id = ${organizationId} AND id = ${id}`;
}
