// Reads request bodies, with bounds on size, time and depth. Rejects invalid UTF-8 and text that databases or logs would mangle.
import { DatabaseError } from "../db/engine/database.ts";
import { AppError, type ErrorDetail, validationError } from "../domain/errors.ts";
import {
  anonymousBodyBytesMax,
  bodyBytesMax,
  bodyReadTimeoutMs,
  jsonValuesMax,
  objectKeysMax,
  smallBodyBytesMax,
  unfinishedBodyGraceMs,
} from "../domain/limits.ts";
import type { BodyPlace } from "../services/body_room.ts";
import type { AppContext } from "./env.ts";
import { checkJsonBounds, joinPath } from "../domain/json_bounds.ts";
import { atMost, reservedName } from "./schemas/messages.ts";

/** Deeper JSON isn't parsed at all. */
const uncheckedDepthMax = 200;

export interface JsonBody {
  readonly value: unknown;
  /** As it was sent, for signatures. */
  readonly text: string;
  readonly bytes: number;
}

/**
 * Reads a JSON body.
 *
 * @param options `bytesMax`: the largest body; by default, it depends on whether the sender is signed in. `optional`: read a
 *   missing body as an empty object. `type`: the media type, in lower case, if not `application/json`. `isFreeText`: all values may
 *   have tabs and line ends. `isUnchecked`: the caller checks texts, one by one.
 * @throws {AppError} `unsupported_media_type`, `body_too_large`, `request_timeout`, `malformed_request` (invalid UTF-8 or JSON,
 *   or too deep), `validation_failed` (control characters or lone surrogates).
 */
export async function readJsonBody(
  c: AppContext,
  options: {
    bytesMax?: number;
    optional?: boolean;
    type?: string;
    isFreeText?: boolean;
    isUnchecked?: boolean;
  } = {},
): Promise<JsonBody> {
  const type = options.type ?? "application/json";
  if (!options.optional) requireType(c, type);
  const { text, bytes } = await readText(c, options.bytesMax ?? ownBytesMax(c));
  if (options.optional) {
    if (bytes === 0) return { value: {}, text, bytes };
    requireType(c, type);
  }
  const parse = options.isUnchecked === true ? parseUnchecked : parseJson;
  return { value: parse(text, options.isFreeText), text, bytes };
}

/**
 * Parses JSON within the bounds of bodies.
 *
 * @param isFreeText True if all values may have tabs and line ends, and not only those of free text.
 * @throws {AppError} `malformed_request` (invalid JSON or too deep), `validation_failed` (control characters or lone surrogates).
 */
export function parseJson(text: string, isFreeText = false): unknown {
  checkJsonBounds(text);
  const value = parse(text);
  // Without these characters, no text can be invalid.
  if (/[\\\x7f-\x9f]|__proto__/.test(text)) checkTexts(value, isFreeText);
  return value;
}

/** Parses JSON whose parts are checked later: with any texts, and with few bounds on its shape. */
function parseUnchecked(text: string): unknown {
  checkJsonBounds(text, { depthMax: uncheckedDepthMax, namesMax: jsonValuesMax });
  return parse(text);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AppError("malformed_request", "The body is not valid JSON.");
  }
}

/**
 * Reads the last value of each field of a URL-encoded form.
 *
 * @throws {AppError} As {@linkcode readJsonBody}.
 */
export async function readFormBody(c: AppContext): Promise<Readonly<Record<string, string>>> {
  requireType(c, "application/x-www-form-urlencoded");
  const { text } = await readText(c, ownBytesMax(c));
  if (hasMore(text, "&", objectKeysMax - 1)) {
    throw validationError([{ path: "", message: atMost(objectKeysMax, "fields") }]);
  }
  // Browsers send each line end as CRLF.
  const fields = Object.fromEntries(new URLSearchParams(text.replaceAll(/%0D%0A/gi, "%0A")));
  checkTexts(fields);
  return fields;
}

function requireType(c: AppContext, type: string): void {
  const given = c.get("headers")["content-type"] ?? "";
  // Most clients send exactly this.
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
    throw new AppError("unsupported_media_type", "Send the body uncompressed.");
  }
}

/** Bounds what an unknown sender can make the server keep in memory. */
function ownBytesMax(c: AppContext): number {
  return c.get("actor") === undefined ? anonymousBodyBytesMax : bodyBytesMax;
}

/**
 * Looks up the sender before reading more than unknown senders may send: immediately when the body declares its size, otherwise
 * once that much has arrived.
 *
 * @param lookUp Rejects an unknown sender.
 */
export async function beforeLargeBody(c: AppContext, lookUp: () => Promise<void>): Promise<void> {
  const headers = c.get("headers");
  if (headers["transfer-encoding"] !== undefined) c.set("lookUpSender", lookUp);
  else if (Number(headers["content-length"] ?? 0) > anonymousBodyBytesMax) await lookUp();
}

/** Returns the size of the largest body that needs no room. */
function roomlessBytesMax(c: AppContext): number {
  return c.get("keyRequest") === undefined ? anonymousBodyBytesMax : smallBodyBytesMax;
}

/** Returns the place of a request's body, which is closed with the response. */
function placeOf(c: AppContext): BodyPlace {
  let place = c.get("bodyPlace");
  if (place === undefined) {
    const { keys, sessions } = c.get("bodyRooms");
    const actor = c.get("actor");
    place = actor === undefined
      ? keys.open(c.get("keyRequest")?.organizationId ?? "operators")
      : sessions.open(actor.user.id);
    c.set("bodyPlace", place);
  }
  return place;
}

export async function readText(c: AppContext, bytesMax: number): Promise<{ text: string; bytes: number }> {
  const headers = c.get("headers");
  // With chunks, the length means nothing (RFC 9112, section 6.3).
  const declared = headers["transfer-encoding"] === undefined ? headers["content-length"] : undefined;
  if (Number(declared) > bytesMax) throw tooLarge(bytesMax);
  if (Number(declared) > roomlessBytesMax(c)) placeOf(c).growTo(Number(declared));
  const reading = declared === undefined ? readChunks(c, bytesMax) : c.req.raw.bytes();
  let body: Uint8Array | null;
  try {
    body = await c.get("deadlines").within(reading, bodyDeadline);
  } catch (error) {
    c.set("isBodyLeft", true);
    if (error instanceof AppError) {
      if (error.code === "request_timeout") c.set("unfinishedBody", reading);
      throw error;
    }
    if (error instanceof DatabaseError) throw error;
    // The client has gone, and won't read the response.
    throw new AppError("malformed_request", "The body is incomplete.", { cause: error });
  }
  if (body === null || body.length > bytesMax) {
    c.set("isBodyLeft", true);
    throw tooLarge(bytesMax);
  }
  try {
    const text = utf8.decode(body);
    return { text: text.includes(replacement) ? strictUtf8.decode(body) : text, bytes: body.length };
  } catch {
    throw new AppError("malformed_request", "The body is not valid UTF-8.");
  } finally {
    // The runtime takes 2 KiB for the smallest body. V8 knows nothing of that, and would free it much later.
    (body.buffer as ArrayBuffer).transfer(0);
  }
}

/** Keeps a byte-order mark, which the JSON parser rejects. */
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
/** Takes the place of invalid bytes. */
const replacement = "\ufffd";
/** Rejects invalid UTF-8. Its texts take twice the memory and longer to parse, so it only decodes what may be invalid. */
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const bodyDeadline = {
  timeoutMs: bodyReadTimeoutMs,
  error: () => new AppError("request_timeout", "The body did not arrive in time."),
};

/**
 * Closes the connection after the response when the request's body didn't arrive in time. Deno keeps such a connection until
 * the body ends or the client disconnects; only a response stream that fails closes it. If the body still ends within a grace
 * period, the stream ends normally.
 */
export function closeUnfinished(c: AppContext, response: Response): Response {
  const unfinished = c.get("unfinishedBody");
  if (unfinished === undefined) return response;
  const headers = new Headers(response.headers);
  headers.set("connection", "close");
  headers.delete("content-length");
  const parts = response.body?.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const part = await parts?.read();
      if (part !== undefined && !part.done) return controller.enqueue(part.value);
      try {
        await c.get("deadlines").within(unfinished, { ...bodyDeadline, timeoutMs: unfinishedBodyGraceMs });
        controller.close();
      } catch (error) {
        controller.error(error);
      }
    },
  }, { highWaterMark: 0 });
  return new Response(body, { status: response.status, headers });
}

function tooLarge(bytesMax: number): AppError {
  return new AppError("body_too_large", `The body must have at most ${bytesMax} bytes.`);
}

/** Returns the body, or null as soon as it exceeds `bytesMax`. */
async function readChunks(c: AppContext, bytesMax: number): Promise<Uint8Array | null> {
  const { body: stream } = c.req.raw;
  if (stream === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const place = placeOf(c);
  let allowed = roomlessBytesMax(c);
  let lookUp = c.get("lookUpSender");
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > bytesMax) return null;
    if (length > allowed) {
      const isLarge = length > anonymousBodyBytesMax;
      if (isLarge) {
        await lookUp?.();
        lookUp = undefined;
      }
      allowed = isLarge ? Math.min(bytesMax, 2 * length) : anonymousBodyBytesMax;
      place.growTo(allowed);
    }
    chunks.push(chunk);
  }
  const body = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    body.set(chunk, offset);
    offset += chunk.length;
  }
  return body;
}

/** True if a character occurs more than `max` times. Stops counting there. */
export function hasMore(text: string, character: string, max: number): boolean {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) {
    if (++count > max) return true;
  }
  return false;
}

/** @throws {AppError} `validation_failed` for control characters, lone surrogates and reserved names. */
export function checkTexts(value: unknown, isFreeText = false): void {
  const faults: ErrorDetail[] = [];
  const fault = (path: string, message: string | null) => {
    if (message !== null && faults.length < 20) faults.push({ path, message });
  };
  const visit = (part: unknown, path: string, isFree: boolean): void => {
    if (typeof part === "string") return fault(path, textFault(part, isFree));
    if (typeof part !== "object" || part === null) return;
    if (Array.isArray(part)) return part.forEach((item, index) => visit(item, `${path}[${index}]`, isFree));
    for (const [name, item] of Object.entries(part)) {
      // Copying an object would silently lose it.
      if (name === "__proto__") fault(joinPath(path, name), reservedName);
      fault(path, textFault(name));
      visit(item, joinPath(path, name), isFree || isFreeTextName(name));
    }
  };
  visit(value, "", isFreeText);
  if (faults.length > 0) throw validationError(faults);
}

/**
 * True for fields and parameters whose values are free text, such as `reason`, `properties.region` or `metadata[0].value`. Events of
 * Stripe have a `payload`. The console's forms have fields with a value on each line.
 */
export function isFreeTextName(name: string): boolean {
  return /^(data|metadata|payload|properties|reason|text|\w+Lines)(?![^.[])/.test(
    name,
  );
}

/** Returns the reason why a text can't be stored or compared, or null. @param isFree True if it may have tabs and line ends. */
export function textFault(text: string, isFree = false): string | null {
  if (!text.isWellFormed()) return "must not contain an unpaired surrogate.";
  if (!isFree) return /\p{Cc}/u.test(text) ? "must not contain control characters." : null;
  return /[^\P{Cc}\t\n\r]/u.test(text)
    ? "must not contain control characters except tabs and line ends."
    : null;
}
