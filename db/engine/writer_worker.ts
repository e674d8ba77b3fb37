// The thread that owns the only writing connection to the data file. Only this thread waits for the file's lock.
import { messageOf } from "../../domain/errors.ts";
import { checkpointBusyTimeoutMs } from "../../domain/limits.ts";
import { Connection } from "./connection.ts";
import { DatabaseError, type DatabaseErrorKind } from "./database.ts";
import { receive, Writer, type WriterSignal } from "./writer.ts";
import type { TurnMemory, WriterTurns } from "./stream/turns.ts";
import { WriteState } from "./write_state.ts";

export interface OpenRequest {
  readonly path: string;
  readonly isGuest: boolean;
  /** Receives {@linkcode WriterRequest}s. */
  readonly control: MessagePort;
  readonly signal: WriterSignal;
  /** The memory of the {@linkcode WriteState}. */
  readonly writes: SharedArrayBuffer;
  /** Present if the log is copied (continuous backup). */
  readonly turns?: TurnMemory | undefined;
}

/** `connect`: a port for the batches of one thread. */
export type WriterRequest =
  | { readonly type: "connect"; readonly port: MessagePort }
  | { readonly type: "close" };

export type WriterResponse =
  | { readonly type: "opened" | "closed" }
  | { readonly type: "open-failed"; readonly kind: DatabaseErrorKind; readonly message: string };

interface WorkerScope {
  onmessage: ((event: MessageEvent<OpenRequest>) => void) | null;
  postMessage(response: WriterResponse): void;
}

/** Writes until the main thread sends `close`. Never returns to the event loop meanwhile. */
function serve(
  connection: Connection,
  { control, signal, writes }: OpenRequest,
  turns: WriterTurns | undefined,
): void {
  const writer = new Writer(connection, { writes: new WriteState(writes) });
  for (;;) {
    const messages = Atomics.load(signal, 0);
    for (let request; (request = receive<WriterRequest>(control)) !== undefined;) {
      if (request.type === "close") return;
      writer.connect(request.port);
    }
    turns?.serve();
    if (writer.commit()) turns?.noteCommit();
    else Atomics.wait(signal, 0, messages);
  }
}

/** Completes the data file if possible, unless that was just done. Otherwise the log stays, and nothing is lost. */
function close(connection: Connection, { isGuest, isSealed }: { isGuest: boolean; isSealed: boolean }): void {
  try {
    if (!isGuest && !isSealed) connection.checkpoint({ busyTimeoutMs: checkpointBusyTimeoutMs });
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
  } finally {
    connection.close();
  }
}

if ("DedicatedWorkerGlobalScope" in globalThis) {
  const scope = globalThis as unknown as WorkerScope;
  scope.onmessage = async ({ data: request }) => {
    let connection: Connection;
    let turns: WriterTurns | undefined;
    try {
      connection = new Connection(request.path, { readOnly: false, isGuest: request.isGuest });
      if (request.turns !== undefined) {
        const { WriterTurns } = await import("./stream/turns.ts");
        turns = new WriterTurns(connection, request.turns);
      }
    } catch (error) {
      const kind = error instanceof DatabaseError ? error.kind : "fault";
      return scope.postMessage({ type: "open-failed", kind, message: messageOf(error) });
    }
    scope.postMessage({ type: "opened" });
    serve(connection, request, turns);
    close(connection, { ...request, isSealed: turns?.isSealed ?? false });
    scope.postMessage({ type: "closed" });
  };
}
