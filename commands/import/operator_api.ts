// Sends requests to the operators' API of a server, which may be busy or restarting meanwhile.
import { setTimeout } from "node:timers/promises";
import { type ErrorDetail, messageOf } from "../../domain/errors.ts";
import { importRetryMsMax } from "../../domain/transfer_limits.ts";
import { CommandError, exitStatus } from "../settings.ts";

interface ApiResponse {
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

/** Waits before another attempt, twice as long each time, unless the server says how long. */
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
      if ("status" in result) return result;
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
    const init = {
      headers: { authorization: `Bearer ${this.#token}`, "content-type": "application/json" },
      ...(json !== undefined && { method: "POST", body: json }),
      // The token is for this server only.
      redirect: "manual",
      signal: AbortSignal.timeout(responseMsMax),
    } as const;
    let response: Response;
    let body: ApiResponse["body"] | null;
    try {
      response = await fetch(`${this.url}${path}`, init);
      body = parse(await response.text());
    } catch (error) {
      return { reason: `no response: ${messageOf(error)}` };
    }
    const { status, headers } = response;
    const { code, message = `status ${status}` } = body?.error ?? {};
    this.#hasResponded ||= body !== null;
    if ([502, 503, 504].includes(status) || code === "rate_limited") {
      const seconds = Number(headers.get("retry-after") ?? NaN);
      return { reason: message, ...(Number.isFinite(seconds) && { retryAfterMs: seconds * 1000 }) };
    }
    if (body === null || status === 401) {
      const problem = body === null ? `${message} without JSON. Is this the address of Gatehouse?` : message;
      throw new CommandError(`${this.url}: ${problem}`, exitStatus.config);
    }
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
