// What operators note about organizations. Customers never see it, and find nothing about it in their audit log.
import {
  deleteOrganizationNoteRow,
  findOrganizationNotes,
  insertOrganizationNote,
  type OrganizationNoteRow,
} from "../../db/console/organization_notes.ts";
import { type OperatorActor, operatorIdentity } from "../../domain/access/actor.ts";
import { AppError, notFoundError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { organizationNotesMax } from "../../domain/limits.ts";
import type { OrganizationNote } from "../../domain/console/organization.ts";
import { isoTime } from "../../domain/time.ts";
import { resolveOrganization, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { type PageInput, readIdPage } from "../pages.ts";

/** Lists notes about an organization that exists, newest first. @throws {AppError} `validation_failed`. */
export async function listNotes(
  { database }: SessionContext,
  { organizationId, limit, cursor }: PageInput & { organizationId: string },
): Promise<{ notes: OrganizationNote[]; nextCursor: string | null }> {
  const { rows, nextCursor } = await readIdPage(
    (page) => findOrganizationNotes(database, organizationId, page),
    { prefix: "not", limit, cursor },
  );
  return { notes: rows.map(toNote), nextCursor };
}

/** Adds a note. @throws {AppError} `not_found`, `limit_reached`. */
export async function addNote(
  context: SessionContext,
  actor: OperatorActor,
  { idText, text }: { idText: string; text: string },
): Promise<OrganizationNote> {
  const { id, name } = await resolveOrganization(context, idText);
  const author = operatorIdentity(actor);
  const note = {
    id: newId("not"),
    text,
    authorId: author.id,
    authorName: author.name,
    createdAt: context.clock(),
  };
  const isAdded = await writeChange(context, actor, {
    statement: insertOrganizationNote(id, note, { notesMax: organizationNotesMax }),
    entry: { action: "organization.note_added", organizationId: null, target: { id, name } },
  });
  if (isAdded) return toNote(note);
  await resolveOrganization(context, id);
  throw new AppError(
    "limit_reached",
    `An organization can have at most ${organizationNotesMax} notes. Delete one first.`,
  );
}

/** Deletes a note. @throws {AppError} `not_found`. */
export async function deleteNote(
  context: SessionContext,
  actor: OperatorActor,
  { idText, noteId }: { idText: string; noteId: string },
): Promise<void> {
  const { id, name } = await resolveOrganization(context, idText);
  const isDeleted = isId("not", noteId) && await writeChange(context, actor, {
    statement: deleteOrganizationNoteRow(id, noteId),
    entry: { action: "organization.note_deleted", organizationId: null, target: { id, name } },
  });
  if (!isDeleted) throw notFoundError();
}

function toNote({ id, text, authorId, authorName, createdAt }: OrganizationNoteRow): OrganizationNote {
  return { id, text, author: { id: authorId, name: authorName }, createdAt: isoTime(createdAt) };
}
