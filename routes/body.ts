// Reading a request's body: bounded in size, time and depth, strictly UTF-8, no text that a database or a log would mangle.
import { DatabaseError } from "../db/engine/database.ts";
import { AppError, type ErrorDetail, validationError } from "../domain/errors.ts";
import {
  anonymousBodyBytesMax,
  bodyBytesMax,
  bodyReadTimeoutMs,
  objectKeysMax,
  unfinishedBodyGraceMs,
} from "../domain/limits.ts";
import type { AppContext } from "./env.ts";
import { checkJsonBounds, joinPath } from "./json_bounds.ts";
import { reservedName } from "./schemas/messages.ts";

/** A parsed body and its size. */
export interface JsonBody {
  readonly value: unknown;
  readonly bytes: number;
}

/**
 * Reads a JSON body.
 *
 * @param options `bytesMax`: the largest body that is read; otherwise it depends on whether the sender is signed in. `optional`: none is as good as an empty object. `type`: its
 *   media type, in lower case, if not `application/json`.
 * @throws {AppError} `unsupported_media_type`, `body_too_large`, `request_timeout`, `malformed_request` (not UTF-8, not
 *   JSON, nested too deep), `validation_failed` (control characters or lone surrogates in a text).
 */
export async function readJsonBody(
  c: AppContext,
  options: { bytesMax?: number; optional?: boolean; type?: string } = {},
): Promise<JsonBody> {
  const type = options.type ?? "application/json";
  if (!options.optional) requireType(c, type);
  const { text, bytes } = await readText(c, options.bytesMax ?? ownBytesMax(c));
  if (options.optional) {
    if (bytes === 0) return { value: {}, bytes };
    requireType(c, type);
  }
  checkJsonBounds(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new AppError("malformed_request", "The body is not valid JSON.");
  }
  // Without these no text in it can be one that is refused.
  if (/[\\\x7f-\x9f]|__proto__/.test(text)) checkTexts(value);
  return { value, bytes };
}

/**
 * Reads a form as a browser without scripts sends it.
 *
 * @returns Each field's last value.
 * @throws {AppError} As {@linkcode readJsonBody}.
 */
export async function readFormBody(c: AppContext): Promise<Readonly<Record<string, string>>> {
  requireType(c, "application/x-www-form-urlencoded");
  const { text } = await readText(c, ownBytesMax(c));
  if (hasMore(text, "&", objectKeysMax - 1)) {
    throw validationError([{ path: "", message: `must have at most ${objectKeysMax} fields.` }]);
  }
  const fields = Object.fromEntries(new URLSearchParams(text));
  checkTexts(fields);
  return fields;
}

function requireType(c: AppContext, type: string): void {
  const given = c.get("headers")["content-type"] ?? "";
  // Nearly everybody sends just that.
  if (given !== type) {
    const [mediaType = "", ...parameters] = given.toLowerCase().split(";").map((part) => part.trim());
    const charset = parameters.find((parameter) => parameter.startsWith("charset="))?.slice(
      "charset=".length,
    );
    if (mediaType !== type || (charset !== undefined && !/^"?utf-?8"?$/.test(charset))) {
      throw new AppError("unsupported_media_type", `Send ${type} in UTF-8.`);
    }
  }
  const encoding = c.get("headers")["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new AppError("unsupported_media_type", "Send the body without compression.");
  }
}

/** A sender the server doesn't know yet can make it hold only a little. */
function ownBytesMax(c: AppContext): number {
  return c.get("actor") === undefined ? anonymousBodyBytesMax : bodyBytesMax;
}

/**
 * Has a sender looked up before more of the body is read than a stranger may send: immediately when the body declares its
 * size, otherwise once that much has arrived.
 *
 * @param lookUp Rejects a sender who isn't known.
 */
export async function beforeLargeBody(c: AppContext, lookUp: () => Promise<void>): Promise<void> {
  const headers = c.get("headers");
  if (headers["transfer-encoding"] !== undefined) c.set("lookUpSender", lookUp);
  else if (Number(headers["content-length"] ?? 0) > anonymousBodyBytesMax) await lookUp();
}

async function readText(c: AppContext, bytesMax: number): Promise<{ text: string; bytes: number }> {
  const headers = c.get("headers");
  // Beside chunks a length says nothing (RFC 9112, 6.3): what comes may have any size.
  const declared = headers["transfer-encoding"] === undefined ? headers["content-length"] : undefined;
  if (Number(declared) > bytesMax) throw tooLarge(bytesMax);
  const reading = declared === undefined ? readChunks(c, bytesMax) : c.req.raw.bytes();
  let body: Uint8Array | null;
  try {
    body = await c.get("deadlines").within(reading, late);
  } catch (error) {
    c.set("isBodyLeft", true);
    if (error instanceof AppError) {
      if (error.code === "request_timeout") c.set("unfinishedBody", reading);
      throw error;
    }
    if (error instanceof DatabaseError) throw error;
    // The client went away; nobody reads the answer.
    throw new AppError("malformed_request", "The body broke off.", { cause: error });
  }
  if (body === null || body.length > bytesMax) {
    c.set("isBodyLeft", true);
    throw tooLarge(bytesMax);
  }
  try {
    return {
      text: strictUtf8.decode(body),
      bytes: body.length,
    };
  } catch {
    throw new AppError("malformed_request", "The body is not valid UTF-8.");
  }
}

/** Refuses what is not UTF-8; a byte-order mark is no JSON and stays for the parser to refuse. */
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const late = {
  timeoutMs: bodyReadTimeoutMs,
  error: () => new AppError("request_timeout", "The body did not arrive in time."),
};

/**
 * Makes a response the last one of its connection when the request's body has not arrived in time. Deno keeps what it has
 * read of a body, and its connection, until the body ends or the client goes: a response that fails in the end is the only
 * way to close the connection from here. A body that does end shortly after gets a regular end.
 *
 * @param answer The response.
 * @returns The same response, or one that closes the connection.
 */
export function closeUnfinished(c: AppContext, answer: Response): Response {
  const unfinished = c.get("unfinishedBody");
  if (unfinished === undefined) return answer;
  const headers = new Headers(answer.headers);
  headers.set("connection", "close");
  headers.delete("content-length");
  const parts = answer.body?.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const part = await parts?.read();
      if (part !== undefined && !part.done) return controller.enqueue(part.value);
      try {
        await c.get("deadlines").within(unfinished, { ...late, timeoutMs: unfinishedBodyGraceMs });
        controller.close();
      } catch (error) {
        controller.error(error);
      }
    },
  }, { highWaterMark: 0 });
  return new Response(body, { status: answer.status, headers });
}

function tooLarge(bytesMax: number): AppError {
  return new AppError("body_too_large", `The body may have ${bytesMax} bytes at most.`);
}

/** @returns The body, or null as soon as it is longer than `bytesMax`. */
async function readChunks(c: AppContext, bytesMax: number): Promise<Uint8Array | null> {
  const { body: stream } = c.req.raw;
  if (stream === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  let lookUp = c.get("lookUpSender");
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > bytesMax) return null;
    if (lookUp !== undefined && length > anonymousBodyBytesMax) {
      await lookUp();
      lookUp = undefined;
    }
    chunks.push(chunk);
  }
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

/** @returns Whether a character is in a text more often than `max` times; it looks no further than that. */
export function hasMore(text: string, character: string, max: number): boolean {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) {
    if (++count > max) return true;
  }
  return false;
}

/** Checks names and every text. */
function checkTexts(value: unknown): void {
  const faults: ErrorDetail[] = [];
  const fault = (path: string, text: string) => {
    const message = textFault(text);
    if (message !== null && faults.length < 20) faults.push({ path, message });
  };
  const visit = (part: unknown, path: string): void => {
    if (typeof part === "string") return fault(path, part);
    if (typeof part !== "object" || part === null) return;
    if (Array.isArray(part)) return part.forEach((item, index) => visit(item, `${path}[${index}]`));
    for (const [name, item] of Object.entries(part)) {
      // Copying an object would lose it without a word.
      if (name === "__proto__" && faults.length < 20) {
        faults.push({ path: joinPath(path, name), message: reservedName });
      }
      fault(path, name);
      visit(item, joinPath(path, name));
    }
  };
  visit(value, "");
  if (faults.length > 0) throw validationError(faults);
}

/** @returns What makes a text unfit to store or compare, or null. */
export function textFault(text: string): string | null {
  if (!text.isWellFormed()) return "has half of a surrogate pair, which is no character.";
  return /\p{Cc}/u.test(text) ? "has a control character." : null;
}
