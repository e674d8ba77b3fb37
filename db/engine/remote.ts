// The remote driver: a libSQL server or Turso over HTTP. One read or one batch is one round trip, with a deadline.
import { createClient, type InStatement, LibsqlError, type ResultSet } from "@libsql/client/http";
import pLimit from "p-limit";
import {
  databaseBusyTimeoutMs,
  databaseWritesWaitingMax,
  remoteRequestTimeoutMs,
} from "../../domain/limits.ts";
import {
  checkArguments,
  type Database,
  DatabaseError,
  databaseErrorKind,
  type Statement,
  type WriteOptions,
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

/** Reads, and as many writes, that are under way at the server at once; the rest wait their turn. */
const concurrentRequestsMax = 64;

/**
 * Connects to a libSQL server. Nothing is sent before the first read or write.
 *
 * @returns The database.
 */
export function openRemote(options: RemoteOptions): Database {
  const timeoutMs = options.timeoutMs ?? remoteRequestTimeoutMs;
  const connect = (send: (request: Request, signal: AbortSignal) => Promise<Response>) =>
    createClient({
      url: options.url,
      ...(options.authToken === undefined ? {} : { authToken: options.authToken }),
      concurrency: concurrentRequestsMax,
      fetch: (request: Request) => send(request, AbortSignal.timeout(timeoutMs)),
    });
  const reader = connect((request, signal) => fetch(request, { signal }));
  // When a connection closes before the response, fetch sends the request again by itself, even a POST
  // (denoland/deno#35610): a batch that was committed already would be written twice. It can't send a stream again.
  // Deno 2.9.3 and later see through `request.body` alone, but not through a pipe.
  const writer = connect((request, signal) =>
    fetch(request, { signal, body: request.body?.pipeThrough(new TransformStream()) ?? null })
  );
  const turns = { read: pLimit(concurrentRequestsMax), write: pLimit(concurrentRequestsMax) };
  let waiting = 0;
  globalThis.addEventListener("unhandledrejection", ignoreSecondRejection);

  async function bounded<T>(
    kind: keyof typeof turns,
    act: () => Promise<T>,
    options?: WriteOptions,
  ): Promise<T> {
    if (waiting >= databaseWritesWaitingMax && options?.bypassesQueueLimit !== true) {
      throw new DatabaseError("unavailable", "too many requests to the database are waiting");
    }
    waiting++;
    // The time for an answer begins here, and not when a turn comes: before it there may be a deadline's worth of others.
    const { promise: late, reject } = Promise.withResolvers<never>();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      reject(new DatabaseError("unavailable", `no answer within ${timeoutMs} ms`));
    }, timeoutMs);
    try {
      // What has not been sent by then never is.
      return await Promise.race([turns[kind](() => isLate ? late : act()), late]);
    } catch (error) {
      throw translate(error);
    } finally {
      clearTimeout(timer);
      waiting--;
    }
  }

  async function read<T>(statement: Statement): Promise<T[]> {
    const result = await bounded("read", () => reader.execute(input(statement)));
    return rowObjects(result) as T[];
  }

  return {
    source: { kind: "remote", url: options.url, authToken: options.authToken },
    read,
    readFirst: async <T>(statement: Statement) => (await read<T>(statement))[0],
    async write(batch: readonly Statement[], options?: WriteOptions): Promise<readonly WriteResult[]> {
      const statements = batch.map(input);
      const giveUpAt = performance.now() + Math.min(databaseBusyTimeoutMs, timeoutMs);
      const results = await bounded(
        "write",
        () => untilUnlocked(() => writer.batch(statements, "write"), { giveUpAt }),
        options,
      );
      return results.map((result) => ({
        rows: rowObjects(result) as WriteResult["rows"],
        changes: result.rowsAffected,
      }));
    },
    // deno-lint-ignore require-await -- the interface is asynchronous
    async close() {
      globalThis.removeEventListener("unhandledrejection", ignoreSecondRejection);
      reader.close();
      writer.close();
    },
  };
}

/**
 * Does it again while the server answers that the database is locked, as it now and then does at once while it moves its
 * log: then it has undone the batch, and said so. An answer that did not come says nothing, and is never asked for again.
 *
 * @param options `giveUpAt`: until when, by `performance.now()`.
 * @returns What the act resolves to. @throws What it throws otherwise, or at last.
 */
export async function untilUnlocked<T>(
  act: () => Promise<T>,
  { giveUpAt }: { giveUpAt: number },
): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      const isLocked = error instanceof LibsqlError && error.code === "SQLITE_BUSY";
      if (!isLocked || performance.now() >= giveUpAt) throw error;
      // Not all who wait at the same moment again.
      await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 45));
    }
  }
}

/**
 * When the server ends a transaction that took too long, the client rejects a promise for every statement that was left
 * and hands out the first (tursodatabase/libsql-client-ts#126). The others would end the program.
 */
function ignoreSecondRejection(event: PromiseRejectionEvent): void {
  const { name, code } = event.reason ?? {};
  if (name === "ResponseError" && code === "TRANSACTION_TIMEOUT") event.preventDefault();
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
