// The worker thread that owns the only writing connection to the data file. A wait for the file's lock stops this
// thread and nobody else. It never reports a batch as written unless COMMIT succeeded.
import { checkpointBusyTimeoutMs } from "../../domain/limits.ts";
import { Connection, filesReleased } from "./connection.ts";
import { DatabaseError, type DatabaseErrorKind, type Statement, type WriteResult } from "./database.ts";

/** What the main thread sends: first `open`, then batches, then `close`. */
export type WriterRequest =
  | { readonly type: "open"; readonly path: string; readonly isGuest?: boolean }
  | {
    readonly type: "write";
    /** SQL that is new; a statement is named by its place among all that were ever sent. */
    readonly texts: readonly string[];
    readonly batch: readonly (readonly [text: number, args: Statement["args"]])[];
    /** Once the lock is refused to a batch it is refused to every other one of its round: each would wait as long again. */
    readonly round: number;
  }
  | { readonly type: "close" };

/** What the worker answers. After `fatal` nothing is known of the last batch and the program must stop. */
export type WriterResponse =
  | { readonly type: "opened" | "closed" }
  | { readonly type: "open-failed"; readonly kind: DatabaseErrorKind; readonly message: string }
  | { readonly type: "fatal"; readonly message: string }
  | { readonly type: "written"; readonly results: readonly WriteResult[] }
  | {
    readonly type: "failed";
    /** The lock could not be had: whoever else waits would wait as long again. */
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
 * The failures of a COMMIT that are understood: no room for the log (also under a limit of file sizes, or of the quota),
 * or for its index. SQLite has undone the batch, and the next commit writes over what the log holds of it. When only the
 * index had no room the log holds all of it, and a crash before that next commit would bring it back: as whole as any
 * other, and told to nobody. A failed fsync is not among them.
 */
const noRoom = /^SQLITE_(FULL|IOERR_WRITE|IOERR_SHMSIZE)\b/;

/**
 * Runs one batch as one transaction.
 *
 * `BEGIN IMMEDIATE` takes the lock, so that "busy" can be answered there alone.
 *
 * @returns What to tell the main thread.
 */
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
    const message = error instanceof Error ? error.message : String(error);
    if (step === "commit" && !noRoom.test(message)) return { type: "fatal", message };
    try {
      if (step !== "begin" && connection.inTransaction) connection.exec("ROLLBACK");
    } catch (rollbackError) {
      return { type: "fatal", message: `${message}; then ROLLBACK failed: ${String(rollbackError)}` };
    }
    return { type: "failed", isLocked: step === "begin" && kind === "unavailable", kind, message };
  }
}

/** Leaves the data file complete when possible; when not, the log stays, and nothing is lost. */
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
  let refused: { readonly round: number; readonly response: WriterResponse } | undefined;
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
          message: error instanceof Error ? error.message : String(error),
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
      if (request.round === refused?.round) return scope.postMessage(refused.response);
      const response = writeBatch(connection, batch);
      if (response.type === "failed" && response.isLocked) refused = { round: request.round, response };
      // A batch that is at hand already is not tried on a file that cannot be trusted any more.
      isStopped = response.type === "fatal";
      scope.postMessage(response);
    }
  };
}

if ("DedicatedWorkerGlobalScope" in globalThis) serve(globalThis as unknown as WorkerScope);
