// The driver for a libSQL server or Turso over HTTP. A read or a batch is one round trip, with a deadline.
import { setTimeout as delay } from "node:timers/promises";
import { createClient, type InStatement, LibsqlError, type ResultSet } from "@libsql/client/http";
import pLimit from "p-limit";
import { messageOf } from "../../domain/errors.ts";
import {
  databaseBusyTimeoutMs,
  databaseWritesWaitingMax,
  remoteRequestTimeoutMs,
} from "../../domain/limits.ts";
import {
  checkArguments,
  DatabaseError,
  databaseErrorKind,
  type MainDatabase,
  type SharedDatabase,
  type Statement,
  type WriteOptions,
  type WriteResult,
} from "./database.ts";
import { fenceError } from "./move_fence.ts";
import { WriteState } from "./write_state.ts";

interface RemoteOptions {
  /** `libsql://`, `https://` or `http://`. */
  readonly url: string;
  readonly authToken: string | undefined;
  /** The memory of another thread's {@linkcode WriteState}. */
  readonly writes?: SharedArrayBuffer;
  readonly timeoutMs?: number;
  /** Called when `gatehouse move` has made the database read-only. The program must stop. */
  readonly onFatal?: (error: DatabaseError) => void;
}

/** Concurrent reads, and concurrent writes. The others wait. */
const concurrentRequestsMax = 64;
/** A failure of this process, not of the database. */
const tooManyWaiting = "too many requests to the database are waiting";

/** Creates the database of a libSQL server. The first read or write connects to it. */
export function openRemote(options: RemoteOptions): MainDatabase & SharedDatabase {
  const { onFatal, timeoutMs = remoteRequestTimeoutMs } = options;
  const connect = (send: (request: Request, signal: AbortSignal) => Promise<Response>) =>
    createClient({
      url: options.url,
      ...(options.authToken === undefined ? {} : { authToken: options.authToken }),
      concurrency: concurrentRequestsMax,
      fetch: (request: Request) => send(request, AbortSignal.timeout(timeoutMs)),
    });
  const reader = connect((request, signal) => fetch(request, { signal }));
  // When a connection closes before the response, fetch repeats the request, even a POST (denoland/deno#35610), so a committed
  // batch would be written twice. It can't repeat a stream. Deno 2.9.3 and later recognize `request.body`, but not a pipe.
  const writer = connect((request, signal) =>
    fetch(request, { signal, body: request.body?.pipeThrough(new TransformStream()) ?? null })
  );
  const limits = { read: pLimit(concurrentRequestsMax), write: pLimit(concurrentRequestsMax) };
  const writes = new WriteState(options.writes);
  let waiting = 0;
  globalThis.addEventListener("unhandledrejection", ignoreUnusedRejection);

  async function bounded<T>(
    kind: keyof typeof limits,
    act: () => Promise<T>,
    options?: WriteOptions,
  ): Promise<T> {
    if (waiting >= databaseWritesWaitingMax && options?.bypassesQueueLimit !== true) {
      throw new DatabaseError("unavailable", tooManyWaiting);
    }
    waiting++;
    // The deadline includes the wait for other requests.
    const { promise: late, reject } = Promise.withResolvers<never>();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      reject(new DatabaseError("unavailable", `no response within ${timeoutMs} ms`));
    }, timeoutMs);
    try {
      // A request that is still waiting at the deadline is never sent.
      return await Promise.race([limits[kind](() => isLate ? late : act()), late]);
    } catch (error) {
      throw toDatabaseError(error);
    } finally {
      clearTimeout(timer);
      waiting--;
    }
  }

  async function read<T>(statement: Statement): Promise<T[]> {
    const result = await bounded("read", () => reader.execute(input(statement)));
    return rowObjects(result) as T[];
  }

  const source = { kind: "remote", url: options.url, authToken: options.authToken } as const;
  return {
    source,
    share: () => ({ ...source, writes: writes.buffer }),
    get lastWrite() {
      return writes.last;
    },
    fail: () => {},
    read,
    readFirst: async <T>(statement: Statement) => (await read<T>(statement))[0],
    async write(batch: readonly Statement[], options?: WriteOptions): Promise<readonly WriteResult[]> {
      const statements = batch.map(input);
      const giveUpAt = performance.now() + Math.min(databaseBusyTimeoutMs, timeoutMs);
      const results = await bounded(
        "write",
        () => untilUnlocked(() => writer.batch(statements, "write"), { giveUpAt }),
        options,
      ).catch((failed: DatabaseError) => {
        const fenced = fenceError(failed.message);
        if (fenced !== undefined) onFatal?.(fenced);
        const error = fenced ?? failed;
        if (error.kind !== "constraint" && error.message !== tooManyWaiting) {
          writes.noteFailure(error.message);
        }
        throw error;
      });
      if (results.some(({ rowsAffected }) => rowsAffected > 0)) writes.noteSuccess();
      return results.map((result) => ({
        rows: rowObjects(result) as WriteResult["rows"],
        changes: result.columns.length === 0 ? result.rowsAffected : 0,
      }));
    },
    // deno-lint-ignore require-await -- the interface is asynchronous
    async close() {
      globalThis.removeEventListener("unhandledrejection", ignoreUnusedRejection);
      reader.close();
      writer.close();
    },
  };
}

/**
 * Retries while the server responds that the database is locked, as it sometimes does while it checkpoints: then it has rolled
 * back the batch. A request without a response is never retried, as its outcome is unknown.
 *
 * @param options `giveUpAt`: when to stop, by `performance.now()`.
 * @returns The result. @throws Any other error, or the last one.
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
      // Random, so that waiting requests don't retry at the same moment.
      await delay(5 + Math.random() * 45);
    }
  }
}

/**
 * When the server ends a transaction that took too long, the client rejects a promise for every remaining statement but returns
 * only the first one (tursodatabase/libsql-client-ts#126). The others would end the program.
 */
function ignoreUnusedRejection(event: PromiseRejectionEvent): void {
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

function toDatabaseError(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const message = messageOf(error);
  if (!(error instanceof LibsqlError)) return new DatabaseError("unavailable", message, { cause: error });
  const code = error.extendedCode ?? error.code;
  // Other codes mean that there was no valid response, such as a proxy's 502.
  const kind = code.startsWith("SQL") ? databaseErrorKind(code) : "unavailable";
  return new DatabaseError(kind, `${code}: ${message}`, { cause: error });
}
