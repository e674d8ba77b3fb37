// A session is looked up before a request's body is read, and may end while the body is on its way. What would outlive the
// session, or cannot be taken back, asks for it once more, in the statement that does it.
import { type Database, sql } from "./database.ts";

/** A condition: the session is still there. Takes its id. */
export const sessionIsLive = "EXISTS (SELECT 1 FROM sessions WHERE id = ?)";

/** @returns Whether a session is still there. @throws {DatabaseError} */
export async function hasLiveSession(database: Database, sessionId: string): Promise<boolean> {
  return await database.readFirst(sql("SELECT 1 FROM sessions WHERE id = ?", sessionId)) !== undefined;
}
