// What the main thread and the reports thread say to each other. Everything here can be sent from one thread to another.
import { DatabaseError, type DatabaseErrorKind, type DatabaseSource } from "../../db/engine/database.ts";
import { AppError, type ErrorCode, type ErrorDetail } from "../../domain/errors.ts";
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
  /** The client has taken a part and can take another; or it has gone. */
  | { readonly type: "more" | "cancel"; readonly id: number }
  | { readonly type: "drain" | "close" };

/** What the reports thread sends back. A report ends with `done` or `failed`. */
export type ReportsResponse =
  | { readonly type: "closed" }
  | { readonly type: "started"; readonly id: number }
  /** What a caller needs to know before the first bytes. */
  | { readonly type: "head"; readonly id: number; readonly head: string }
  /** Another part follows when `more` is asked for. */
  | { readonly type: "part"; readonly id: number; readonly bytes: Uint8Array<ArrayBuffer> }
  /** `value`: what the report returns; the last bytes, if it sends bytes. */
  | { readonly type: "done"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly error: SentError };

/** An error as plain values. */
export type SentError =
  | {
    readonly type: "app";
    readonly code: ErrorCode;
    readonly message: string;
    readonly details: readonly ErrorDetail[] | undefined;
    readonly retryAfterSeconds: number | undefined;
  }
  | { readonly type: "database"; readonly kind: DatabaseErrorKind; readonly message: string }
  | { readonly type: "fault"; readonly text: string };

/** @returns An error as it is sent. */
export function sentError(error: unknown): SentError {
  if (error instanceof AppError) {
    const { code, message, details, retryAfterSeconds } = error;
    return { type: "app", code, message, details, retryAfterSeconds };
  }
  if (error instanceof DatabaseError) return { type: "database", kind: error.kind, message: error.message };
  return { type: "fault", text: error instanceof Error ? error.stack ?? error.message : String(error) };
}

/** @returns The error that was sent. */
export function receivedError(sent: SentError): Error {
  if (sent.type === "database") return new DatabaseError(sent.kind, sent.message);
  if (sent.type === "fault") return new Error(`in the reports thread: ${sent.text}`);
  const { code, message, details, retryAfterSeconds } = sent;
  return new AppError(code, message, {
    ...(details === undefined ? {} : { details }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}
