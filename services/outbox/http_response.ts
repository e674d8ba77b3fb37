// Reads a response of HTTP/1.1 from a connection of its own, bounded in bytes and reads.

/** Reports a response that can't be read. The message contains nothing of it, and continues a sentence that begins with its address. */
export class ResponseError extends Error {
  override readonly name = "ResponseError";
}

/** Includes informational responses before it. */
const headBytesMax = 16 * 1024;
/** Allowance for the sizes of chunks. */
const framingBytesMax = 16 * 1024;
/** A server that sends its response in more pieces keeps the event loop busy. */
const readsMax = 1_000;
const headReadsMax = 100;
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Reads a response, or only its head if `bodyBytesMax` is null.
 *
 * @throws {ResponseError} If there is no valid response, or its body is larger than `bodyBytesMax`.
 */
export async function readResponse(
  connection: Deno.Conn,
  { bodyBytesMax }: { bodyBytesMax: number | null },
): Promise<Response> {
  const limits = bodyBytesMax === null
    ? { bytesMax: headBytesMax, readsMax: headReadsMax }
    : { bytesMax: headBytesMax + bodyBytesMax + framingBytesMax, readsMax };
  const bytes = new Incoming(connection, limits);
  const { status, headers } = await readHead(bytes, { isStrict: bodyBytesMax !== null });
  const hasBody = bodyBytesMax !== null && !withoutBody.has(status);
  return new Response(hasBody ? await readBody(bytes, { headers, bodyBytesMax }) : null, { status, headers });
}

/**
 * Reads the head of the first response that isn't informational. Unless `isStrict`, invalid headers are ignored: they can't change where
 * a body ends if none is read.
 */
async function readHead(
  bytes: Incoming,
  { isStrict }: { isStrict: boolean },
): Promise<{ status: number; headers: Headers }> {
  for (;;) {
    const status = Number(/^HTTP\/1\.[01] ([1-5]\d\d)(?: |$)/.exec(await bytes.line())?.[1]);
    if (Number.isNaN(status) || status === 101) throw invalid();
    const headers = new Headers();
    for (let line = await bytes.line(); line !== ""; line = await bytes.line()) {
      if (bytes.position > headBytesMax) throw invalid();
      const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):([\t\x20-\xff]*)$/.exec(line) ?? [];
      if (name !== undefined && value !== undefined) headers.append(name, value.trim());
      else if (isStrict) throw invalid();
    }
    if (status >= 200) return { status, headers };
  }
}

async function readBody(
  bytes: Incoming,
  { headers, bodyBytesMax }: { headers: Headers; bodyBytesMax: number },
): Promise<Uint8Array<ArrayBuffer>> {
  const coding = headers.get("transfer-encoding");
  const length = headers.get("content-length");
  if (coding !== null) {
    if (coding.toLowerCase() !== "chunked" || length !== null) throw invalid();
    return await readChunks(bytes, bodyBytesMax);
  }
  if (length === null) return await bytes.rest(bodyBytesMax);
  if (!/^\d+$/.test(length)) throw invalid();
  if (Number(length) > bodyBytesMax) throw tooLarge();
  return await bytes.take(Number(length));
}

async function readChunks(bytes: Incoming, bodyBytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
  const body = new Uint8Array(bodyBytesMax);
  let length = 0;
  for (;;) {
    const [, size] = /^([0-9a-f]+)[ \t]*(?:;|$)/i.exec(await bytes.line()) ?? [];
    if (size === undefined) throw invalid();
    const next = parseInt(size, 16);
    // Trailers may follow. They are never used, and the connection is not used again.
    if (next === 0) return body.slice(0, length);
    if (length + next > bodyBytesMax) throw tooLarge();
    body.set(await bytes.take(next), length);
    length += next;
    if (await bytes.line() !== "") throw invalid();
  }
}

/** Reads bytes of a connection on demand. */
class Incoming {
  readonly #connection: Deno.Conn;
  readonly #buffer: Uint8Array<ArrayBuffer>;
  #length = 0;
  #readsLeft: number;
  /** The number of bytes that were returned. */
  position = 0;

  constructor(connection: Deno.Conn, { bytesMax, readsMax }: { bytesMax: number; readsMax: number }) {
    this.#connection = connection;
    this.#buffer = new Uint8Array(bytesMax);
    this.#readsLeft = readsMax;
  }

  /** Returns the bytes up to the end of the line, without it. */
  async line(): Promise<string> {
    for (let from = this.position;;) {
      const end = this.#buffer.subarray(0, this.#length).indexOf(0x0a, from);
      if (end >= 0) {
        const line = new TextDecoder("latin1").decode(this.#buffer.subarray(this.position, end));
        this.position = end + 1;
        return line.replace(/\r$/, "");
      }
      from = this.#length;
      if (!await this.#fill()) throw invalid();
    }
  }

  async take(length: number): Promise<Uint8Array<ArrayBuffer>> {
    while (this.#length - this.position < length) if (!await this.#fill()) throw invalid();
    this.position += length;
    return this.#buffer.slice(this.position - length, this.position);
  }

  /** Returns the bytes until the end of the connection. */
  async rest(bytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
    for (;;) {
      if (this.#length - this.position > bytesMax) throw tooLarge();
      if (!await this.#fill()) return this.#buffer.slice(this.position, this.#length);
    }
  }

  /** Reads once. Returns false at the end of the connection. */
  async #fill(): Promise<boolean> {
    if (this.#readsLeft-- <= 0 || this.#length === this.#buffer.length) throw tooLarge();
    const read = await this.#connection.read(this.#buffer.subarray(this.#length));
    this.#length += read ?? 0;
    return read !== null;
  }
}

function invalid(): ResponseError {
  return new ResponseError("doesn't return a valid response");
}

export function tooLarge(): ResponseError {
  return new ResponseError("returns a response that is too large");
}
