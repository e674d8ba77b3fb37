// Errors between threads. Cloning an error loses its class and its other properties.
import { DatabaseError, type DatabaseErrorKind } from "../db/engine/database.ts";
import { AppError } from "../domain/errors.ts";

export type SentError =
  | Pick<AppError, "code" | "message" | "details" | "retryAfterSeconds"> & { readonly type: "app" }
  | { readonly type: "database"; readonly kind: DatabaseErrorKind; readonly message: string }
  | { readonly type: "fault"; readonly text: string };

/** Turns an error into plain values. @param thread Where it was thrown, for the log. */
export function sentError(error: unknown, thread: string): SentError {
  if (error instanceof AppError) {
    const { code, message, details, retryAfterSeconds } = error;
    return { type: "app", code, message, details, retryAfterSeconds };
  }
  if (error instanceof DatabaseError) return { type: "database", kind: error.kind, message: error.message };
  const text = error instanceof Error ? error.stack ?? error.message : String(error);
  return { type: "fault", text: `in the ${thread}: ${text}` };
}

export function receivedError(sent: SentError): Error {
  if (sent.type === "database") return new DatabaseError(sent.kind, sent.message);
  if (sent.type === "fault") return new Error(sent.text);
  const { code, message, details, retryAfterSeconds } = sent;
  return new AppError(code, message, { details, retryAfterSeconds });
}
