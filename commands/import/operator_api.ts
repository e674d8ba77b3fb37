// Sends requests to the operators' API of a server, which may be busy or restarting meanwhile.
import { setTimeout } from "node:timers/promises";
import { type ErrorDetail, messageOf } from "../../domain/errors.ts";
import { importRetryMsMax } from "../../domain/transfer_limits.ts";
import { CommandError, exitStatus } from "../settings.ts";

/** A response that isn't worth a retry. */
export interface ApiResponse {
  readonly status: number;
  readonly body: {
    readonly accepted?: number;
    readonly duplicates?: number;
    readonly error?: {
      readonly code?: string;
      readonly message?: string;
      readonly details?: readonly ErrorDetail[];
    };
  };
}

/** Attempts after a failure wait this long, twice as long each time, unless the server says otherwise. */
const retryFirstMs = 500;
const retryLastMs = 30_000;
const responseMsMax = 60_000;

export class OperatorApi {
  readonly url: string;
  readonly #token: string;
  /** A wrong address fails immediately; a server that worked may come back. */
  #hasResponded = false;

  constructor({ url, token }: { url: string; token: string }) {
    this.url = url;
    this.#token = token;
  }

  /**
   * Sends a request, again after 503, 429 and broken connections. A record that is sent again counts once.
   *
   * @param json The text of the body. @throws {CommandError} When the server stays away, or isn't Gatehouse.
   */
  async send(path: string, json?: string): Promise<ApiResponse> {
    const startedAt = performance.now();
    for (let waitMs = retryFirstMs;; waitMs = Math.min(2 * waitMs, retryLastMs)) {
      const result = await this.#attempt(path, json);
      if (!("reason" in result)) {
        this.#hasResponded = true;
        return result;
      }
      const pauseMs = result.retryAfterMs ?? waitMs;
      if (!this.#hasResponded || performance.now() - startedAt + pauseMs > importRetryMsMax) {
        throw new CommandError(`${this.url}: ${result.reason}. Try again later.`, exitStatus.busy);
      }
      await setTimeout(pauseMs);
    }
  }

  async #attempt(
    path: string,
    json?: string,
  ): Promise<ApiResponse | { retryAfterMs?: number; reason: string }> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${this.url}${path}`, {
        method: json === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${this.#token}`, "content-type": "application/json" },
        ...(json !== undefined && { body: json }),
        // The token is for this server only.
        redirect: "manual",
        signal: AbortSignal.timeout(responseMsMax),
      });
      text = await response.text();
    } catch (error) {
      return { reason: `no response: ${messageOf(error)}` };
    }
    const { status } = response;
    const body = parse(text);
    const { code, message } = body?.error ?? {};
    if (status === 503 || code === "rate_limited") {
      this.#hasResponded ||= body !== null;
      const seconds = Number(response.headers.get("retry-after") ?? NaN);
      const reason = message ?? `status ${status}`;
      return { reason, ...(Number.isFinite(seconds) && { retryAfterMs: seconds * 1000 }) };
    }
    if (status === 502 || status === 504) return { reason: `status ${status}` };
    if (body === null) {
      const problem = `${this.url} returned status ${status} without JSON. Is it the address of Gatehouse?`;
      throw new CommandError(problem, exitStatus.config);
    }
    if (status === 401) throw new CommandError(`${this.url}: ${message}`, exitStatus.config);
    return { status, body };
  }
}

function parse(text: string): ApiResponse["body"] | null {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}
