// Clients with metadata documents, as operators see them: they can only end their access.
import {
  deleteUnlisted,
  type DocumentRow,
  findDocumentRow,
  findDocumentRows,
  findUnlistedDocument,
} from "../../db/oauth/documents.ts";
import { deleteRegistered } from "../../db/oauth/registered.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { notFoundError } from "../../domain/errors.ts";
import { writeChange } from "../access/mod.ts";
import type { Context, SessionContext } from "../context.ts";
import { type PageInput, readPage, requireIdCursor } from "../pages.ts";

/** People are counted up to here. */
export const documentPeopleMax = 1_000;

/** Lists them, the newest first. @throws {AppError} `validation_failed` for an invalid cursor. */
export async function listDocumentClients(
  { database }: Pick<SessionContext, "database">,
  { limit, cursor }: PageInput,
): Promise<{ clients: DocumentRow[]; nextCursor: string | null }> {
  requireIdCursor(cursor, "doc");
  const { rows, nextCursor } = await readPage(
    (limit) => findDocumentRows(database, { limit, before: cursor ?? "doc_~", peopleMax: documentPeopleMax }),
    { limit, cursorOf: ({ id }) => id },
  );
  return { clients: rows, nextCursor };
}

/** @throws {AppError} `not_found`. */
export async function getDocumentClient(
  { database }: Pick<SessionContext, "database">,
  id: string,
): Promise<DocumentRow> {
  const row = await findDocumentRow(database, id, documentPeopleMax);
  if (row === undefined) throw notFoundError();
  return row;
}

/** Ends everything that people gave to a client. They can allow it again while its host is listed. @throws {AppError} `not_found`. */
export async function endDocumentClient(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
): Promise<void> {
  const { clientId, name } = await getDocumentClient(context, id);
  const isEnded = await writeChange(context, actor, {
    statement: deleteRegistered("client", clientId),
    entry: { action: "client.deleted", organizationId: null, target: { id, name } },
  });
  if (!isEnded) throw notFoundError();
}

/** Ends the access of clients whose hosts aren't listed anymore. The server does it before the first request. */
export async function endUnlistedClients(
  { config: { oauthClientHosts: hosts }, database }: Pick<Context, "config" | "database">,
): Promise<void> {
  if (hosts.includes("*")) return;
  while (await findUnlistedDocument(database, hosts) !== undefined) {
    await database.write([deleteUnlisted(hosts)]);
  }
}
