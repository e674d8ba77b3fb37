// The remote driver: a libSQL server or Turso over HTTP. One read or one batch is one round trip, with a deadline.
import { createClient, type InStatement, LibsqlError, type ResultSet } from "@libsql/client/http";
import { databaseWritesWaitingMax, remoteRequestTimeoutMs } from "../domain/limits.ts";
import {
  checkArguments,
  type Database,
  DatabaseError,
  databaseErrorKind,
  type Statement,
  type WriteResult,
} from "./database.ts";

/** Which server, and how long to wait for it. */
export interface RemoteOptions {
  /** `libsql://`, `https://` or `http://`. */
  readonly url: string;
  readonly authToken: string | undefined;
  /** Deadline of one request in milliseconds. */
  readonly timeoutMs?: number;
}

/** Requests to the server under way at once; the rest wait their turn. */
const concurrentRequestsMax = 64;

/**
 * Connects to a libSQL server. Nothing is sent before the first read or write.
 *
 * @returns The database.
 */
export function openRemote(options: RemoteOptions): Database {
  const timeoutMs = options.timeoutMs ?? remoteRequestTimeoutMs;
  const client = createClient({
    url: options.url,
    ...(options.authToken === undefined ? {} : { authToken: options.authToken }),
    concurrency: concurrentRequestsMax,
    fetch: (request: Request) => fetch(request, { signal: AbortSignal.timeout(timeoutMs) }),
  });
  let waiting = 0;

  async function bounded<T>(act: () => Promise<T>): Promise<T> {
    if (waiting >= databaseWritesWaitingMax) {
      throw new DatabaseError("unavailable", "too many requests to the database are waiting");
    }
    waiting++;
    try {
      return await act();
    } catch (error) {
      throw translate(error);
    } finally {
      waiting--;
    }
  }

  async function read<T>(statement: Statement): Promise<T[]> {
    const result = await bounded(() => client.execute(input(statement)));
    return rowObjects(result) as T[];
  }

  return {
    read,
    readFirst: async <T>(statement: Statement) => (await read<T>(statement))[0],
    async write(batch: readonly Statement[]): Promise<readonly WriteResult[]> {
      const results = await bounded(() => client.batch(batch.map(input), "write"));
      return results.map((result) => ({
        rows: rowObjects(result) as WriteResult["rows"],
        changes: result.rowsAffected,
      }));
    },
    // deno-lint-ignore require-await -- the interface is asynchronous
    async close() {
      client.close();
    },
  };
}

function input(statement: Statement): InStatement {
  checkArguments(statement);
  return { sql: statement.sql, args: [...statement.args] };
}

function rowObjects(result: ResultSet): unknown[] {
  return result.rows.map((row) =>
    Object.fromEntries(result.columns.map((column, index) => [column, row[index] ?? null]))
  );
}

function translate(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const options = { cause: error };
  if (error instanceof LibsqlError) {
    const code = error.extendedCode ?? error.code;
    // A server that answers something other than results (a proxy's 502, say) is out of reach.
    const kind = code.startsWith("SQL") ? databaseErrorKind(code) : "unavailable";
    return new DatabaseError(kind, `${code}: ${message}`, options);
  }
  return new DatabaseError("unavailable", message, options);
}
