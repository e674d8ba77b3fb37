// The messages between the main thread and the reports thread.
import { DatabaseError, type DatabaseErrorKind, type DatabaseSource } from "../../db/engine/database.ts";
import { AppError } from "../../domain/errors.ts";
import type { ReportInput, ReportName } from "./report_types.ts";

/** What the main thread sends: first `open`, then reports, then `close`. */
export type ReportsRequest =
  | { readonly type: "open"; readonly source: DatabaseSource }
  | {
    readonly type: "report";
    readonly id: number;
    readonly name: ReportName;
    readonly input: ReportInput<ReportName>;
  }
  /** The client has taken a part and can take another one, or it is gone. */
  | { readonly type: "more" | "cancel"; readonly id: number }
  | { readonly type: "drain" | "close" };

/** What the reports thread responds. A report ends with `done` or `failed`. */
export type ReportsResponse =
  | { readonly type: "closed" }
  | { readonly type: "started"; readonly id: number }
  /** See `ReportBytes`. */
  | { readonly type: "head"; readonly id: number; readonly head: string }
  /** Another part follows after `more`. */
  | { readonly type: "part"; readonly id: number; readonly bytes: Uint8Array<ArrayBuffer> }
  /** `value`: the result of the report; the last bytes, if it sends bytes. */
  | { readonly type: "done"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly error: SentError };

/** An error as plain values. */
export type SentError =
  | Pick<AppError, "code" | "message" | "details" | "retryAfterSeconds"> & { readonly type: "app" }
  | { readonly type: "database"; readonly kind: DatabaseErrorKind; readonly message: string }
  | { readonly type: "fault"; readonly text: string };

/** @returns An error as plain values. */
export function sentError(error: unknown): SentError {
  if (error instanceof AppError) {
    const { code, message, details, retryAfterSeconds } = error;
    return { type: "app", code, message, details, retryAfterSeconds };
  }
  if (error instanceof DatabaseError) return { type: "database", kind: error.kind, message: error.message };
  return { type: "fault", text: error instanceof Error ? error.stack ?? error.message : String(error) };
}

/** @returns The error of plain values. */
export function receivedError(sent: SentError): Error {
  if (sent.type === "database") return new DatabaseError(sent.kind, sent.message);
  if (sent.type === "fault") return new Error(`in the reports thread: ${sent.text}`);
  const { code, message, details, retryAfterSeconds } = sent;
  return new AppError(code, message, { details, retryAfterSeconds });
}
