// The worker thread that owns the only writing connection to the data file. Only this thread waits for the file's lock. It
// reports a batch as written only after COMMIT succeeded.
import { messageOf } from "../../domain/errors.ts";
import { checkpointBusyTimeoutMs } from "../../domain/limits.ts";
import { Connection, filesReleased } from "./connection.ts";
import { DatabaseError, type DatabaseErrorKind, type Statement, type WriteResult } from "./database.ts";

/** Messages of the main thread: `open`, then batches, then `close`. */
export type WriterRequest =
  | { readonly type: "open"; readonly path: string; readonly isGuest?: boolean }
  | {
    readonly type: "write";
    /** New SQL texts. Statements refer to texts by their position among all that were sent. */
    readonly texts: readonly string[];
    readonly batch: readonly (readonly [text: number, args: Statement["args"]])[];
    /** When a batch can't get the lock, the others of its round are rejected as well: each would wait as long again. */
    readonly round: number;
  }
  | { readonly type: "close" };

/** Responses of the worker. After `fatal` the outcome of the last batch is unknown, and the program must stop. */
export type WriterResponse =
  | { readonly type: "opened" | "closed" }
  | { readonly type: "open-failed"; readonly kind: DatabaseErrorKind; readonly message: string }
  | { readonly type: "fatal"; readonly message: string }
  | { readonly type: "written"; readonly results: readonly WriteResult[] }
  | {
    readonly type: "failed";
    /** The batch could not get the lock. */
    readonly isLocked: boolean;
    readonly kind: DatabaseErrorKind;
    readonly message: string;
  };

/** The part of a worker's global scope that is used here. */
interface WorkerScope {
  onmessage: ((event: MessageEvent<WriterRequest>) => void) | null;
  postMessage(response: WriterResponse): void;
  close(): void;
}

/**
 * Failures of COMMIT with a known outcome: no space for the log (or a limit of file sizes, or a quota), or for its index. SQLite
 * has rolled back the batch, and the next commit overwrites it in the log. If only the index had no space, a crash before that
 * commit restores the complete batch, though it was reported as failed. A failed fsync is not among them.
 */
const outOfSpace = /^SQLITE_(FULL|IOERR_WRITE|IOERR_SHMSIZE)\b/;

/** Runs one batch as one transaction. `BEGIN IMMEDIATE` takes the lock, so that only this statement can be "busy". */
export function writeBatch(connection: Connection, batch: readonly Statement[]): WriterResponse {
  let step: "begin" | "statements" | "commit" = "begin";
  try {
    connection.exec("BEGIN IMMEDIATE");
    step = "statements";
    const results = batch.map((statement) => connection.run(statement)) as WriteResult[];
    step = "commit";
    connection.exec("COMMIT");
    return { type: "written", results };
  } catch (error) {
    const kind = error instanceof DatabaseError ? error.kind : "fault";
    const message = messageOf(error);
    if (step === "commit" && !outOfSpace.test(message)) return { type: "fatal", message };
    try {
      if (step !== "begin" && connection.inTransaction) connection.exec("ROLLBACK");
    } catch (rollbackError) {
      return { type: "fatal", message: `${message}; then ROLLBACK failed: ${String(rollbackError)}` };
    }
    return { type: "failed", isLocked: step === "begin" && kind === "unavailable", kind, message };
  }
}

/** Completes the data file if possible. Otherwise the log stays, and nothing is lost. */
function close(connection: Connection, { isGuest }: { isGuest: boolean }): void {
  try {
    if (!isGuest) connection.checkpoint({ busyTimeoutMs: checkpointBusyTimeoutMs });
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
  } finally {
    connection.close();
  }
}

function serve(scope: WorkerScope): void {
  let connection: Connection | undefined;
  let isGuest = false;
  const texts: string[] = [];
  let rejected: { readonly round: number; readonly response: WriterResponse } | undefined;
  let isStopped = false;
  scope.onmessage = ({ data: request }) => {
    if (request.type === "open") {
      try {
        isGuest = request.isGuest ?? false;
        connection = new Connection(request.path, { readOnly: false, isGuest });
        scope.postMessage({ type: "opened" });
      } catch (error) {
        scope.postMessage({
          type: "open-failed",
          kind: error instanceof DatabaseError ? error.kind : "fault",
          message: messageOf(error),
        });
      }
    } else if (request.type === "close") {
      if (connection !== undefined) close(connection, { isGuest });
      filesReleased().then(() => {
        scope.postMessage({ type: "closed" });
        scope.close();
      });
    } else if (connection !== undefined && !isStopped) {
      texts.push(...request.texts);
      const batch = request.batch.map(([text, args]) => ({ sql: texts[text] ?? "", args }));
      if (request.round === rejected?.round) return scope.postMessage(rejected.response);
      const response = writeBatch(connection, batch);
      if (response.type === "failed" && response.isLocked) rejected = { round: request.round, response };
      // The next batch, already sent, must not be written.
      isStopped = response.type === "fatal";
      scope.postMessage(response);
    }
  };
}

if ("DedicatedWorkerGlobalScope" in globalThis) serve(globalThis as unknown as WorkerScope);
