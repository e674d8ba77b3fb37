// An S3-compatible store, with requests that are signed by AWS Signature Version 4
// (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
import { Buffer } from "node:buffer";
import { createHash, createHmac } from "node:crypto";
import type { StreamTarget } from "../../../domain/stream_settings.ts";
import {
  streamBytesPerMsMin,
  streamObjectBytesMax,
  streamRequestRetriesMs,
  streamRequestTimeoutMs,
} from "../../../domain/stream_limits.ts";
import type { StoredObject, Target } from "./target.ts";

type S3Options = StreamTarget & { kind: "s3" };

interface StoreRequest {
  readonly method: "GET" | "PUT" | "DELETE";
  /** Without one, the request is for a list. */
  readonly name?: string;
  readonly query?: Record<string, string>;
  readonly body?: Uint8Array;
}

interface StoreResponse {
  readonly headers: Headers;
  readonly bytes: Uint8Array;
}

/** The store would respond in the same way again. */
class Rejected extends Error {}

export class S3Target implements Target {
  readonly #options: S3Options;
  readonly #address: string;

  constructor(options: S3Options) {
    this.#options = options;
    const { bucket, region, endpoint } = options;
    // Amazon's certificate has no names with more dots, and most other stores have no host for each bucket.
    this.#address = endpoint === undefined && !bucket.includes(".")
      ? `https://${bucket}.s3.${region}.amazonaws.com`
      : `${(endpoint ?? `https://s3.${region}.amazonaws.com`).replace(/\/$/, "")}/${encodePath(bucket)}`;
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    await this.#request({ method: "PUT", name, body: bytes });
  }

  async get(name: string): Promise<{ bytes: Uint8Array; ageMs: number } | null> {
    const response = await this.#request({ method: "GET", name });
    if (response === null) return null;
    const [now, changedAt] = ["date", "last-modified"].map((header) =>
      Date.parse(response.headers.get(header) ?? "")
    );
    const ageMs = (now as number) - (changedAt as number);
    return { bytes: response.bytes, ageMs: Number.isFinite(ageMs) ? ageMs : Infinity };
  }

  async list(prefix: string, { after }: { after?: string } = {}): Promise<StoredObject[]> {
    const root = this.#key("");
    const found: StoredObject[] = [];
    let token: string | undefined;
    do {
      const query = {
        "list-type": "2",
        prefix: root + prefix,
        ...(after === undefined ? {} : { "start-after": root + after }),
        ...(token === undefined ? {} : { "continuation-token": token }),
      };
      const response = await this.#request({ method: "GET", query });
      const text = new TextDecoder().decode(response?.bytes);
      for (const [, item = ""] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        const name = elementOf(item, "Key").slice(root.length);
        // Not every store knows start-after.
        if (after === undefined || name > after) found.push({ name, bytes: Number(elementOf(item, "Size")) });
      }
      token = elementOf(text, "IsTruncated") === "true"
        ? elementOf(text, "NextContinuationToken")
        : undefined;
    } while (token !== undefined && token !== "");
    return found.sort((one, other) => one.name < other.name ? -1 : 1);
  }

  async remove(name: string): Promise<void> {
    await this.#request({ method: "DELETE", name });
  }

  #key(name: string): string {
    const { prefix } = this.#options;
    return prefix === "" ? name : `${prefix}/${name}`;
  }

  /**
   * Sends a request again after a failure that may pass, even if it was done: each of them may be done twice. All tries together
   * have the time of one, since another server may take the target over if its owner is not renewed in time.
   *
   * @returns Null for 404 of an object.
   */
  async #request(request: StoreRequest): Promise<StoreResponse | null> {
    const endsAt = performance.now() + requestTimeoutMs(request.body?.length ?? 0);
    for (let failures = 0;; failures++) {
      try {
        return await this.#send(request, endsAt);
      } catch (error) {
        const pauseMs = streamRequestRetriesMs[failures] ?? Infinity;
        if (error instanceof Rejected || performance.now() + pauseMs >= endsAt) throw error;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }

  async #send(
    { method, name, query = {}, body }: StoreRequest,
    endsAt: number,
  ): Promise<StoreResponse | null> {
    const path = name === undefined ? "" : `/${encodePath(this.#key(name))}`;
    const url = new URL(this.#address + path);
    url.search = canonicalQuery(query);
    const { response, bytes } = await send(url, {
      method,
      headers: signedHeaders({ method, url, body, now: new Date(), ...this.#options }),
      body: (body ?? null) as BodyInit | null,
      redirect: "error",
    }, endsAt);
    if (response.ok) return { headers: response.headers, bytes };
    const code = elementOf(new TextDecoder().decode(bytes.subarray(0, 4_000)), "Code");
    if (response.status === 404 && name !== undefined && code !== "NoSuchBucket") return null;
    const message = `the store responded with ${response.status} ${code}`.trim();
    // AWS sends RequestTimeout with 400.
    throw response.status < 500 && ![408, 429].includes(response.status) && code !== "RequestTimeout"
      ? new Rejected(message)
      : new Error(message);
  }
}

/** @param endsAt The time by which the response must begin, as of `performance.now()`. */
async function send(
  url: URL,
  init: RequestInit,
  endsAt: number,
): Promise<{ response: Response; bytes: Uint8Array }> {
  const timeout = new AbortController();
  const abortAfter = (ms: number) =>
    setTimeout(() => timeout.abort(new Error("the store didn't respond in time")), ms);
  let timer = abortAfter(endsAt - performance.now());
  try {
    const response = await fetch(url, { ...init, signal: timeout.signal });
    clearTimeout(timer);
    timer = abortAfter(requestTimeoutMs(Number(response.headers.get("content-length") ?? 0)));
    return { response, bytes: await readBody(response) };
  } finally {
    clearTimeout(timer);
  }
}

/** Returns how long a body of some bytes may take. */
export function requestTimeoutMs(bytes: number): number {
  return streamRequestTimeoutMs + Math.min(bytes, streamObjectBytesMax) / streamBytesPerMsMin;
}

async function readBody(response: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > streamObjectBytesMax) throw new Error("the store's response is too large");
    parts.push(part);
  }
  return Buffer.concat(parts);
}

interface SignedRequest extends Pick<S3Options, "region" | "accessKeyId" | "secretAccessKey"> {
  readonly method: string;
  readonly url: URL;
  readonly body: Uint8Array | undefined;
  readonly now: Date;
}

/** Returns the headers that sign a request. */
export function signedHeaders(request: SignedRequest): Record<string, string> {
  const { method, url, body, now, region, accessKeyId, secretAccessKey } = request;
  const time = now.toISOString().replaceAll(/[-:]|\.\d{3}/g, "");
  const day = time.slice(0, 8);
  const hash = createHash("sha256").update(body ?? "").digest("hex");
  const headers = { host: url.host, "x-amz-content-sha256": hash, "x-amz-date": time };
  const names = Object.keys(headers).join(";");
  const canonical = [
    method,
    url.pathname,
    url.search.slice(1),
    ...Object.entries(headers).map(([name, value]) => `${name}:${value}`),
    "",
    names,
    hash,
  ].join("\n");
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", time, scope, createHash("sha256").update(canonical).digest("hex")].join(
    "\n",
  );
  const hmac = (key: Uint8Array | string, data: string) => createHmac("sha256", key).update(data).digest();
  const key = ["s3", "aws4_request"].reduce<Uint8Array>(
    hmac,
    hmac(hmac(`AWS4${secretAccessKey}`, day), region),
  );
  const signature = createHmac("sha256", key).update(text).digest("hex");
  return {
    ...headers,
    authorization:
      `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

function encodePath(path: string): string {
  return path.split("/").map(encode).join("/");
}

function canonicalQuery(query: Record<string, string>): string {
  return Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(value)}`).sort().join("&");
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Returns the text of the first element of a name; empty if there is none. */
function elementOf(xml: string, name: string): string {
  const [, text = ""] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml) ?? [];
  const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text.replaceAll(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => entities[entity] as string);
}
