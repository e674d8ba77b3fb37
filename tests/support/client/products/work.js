// What the handlers of all products do. Node.js runs it, too.

export const runs = { product: "jobs", metric: "runs" };
const tokens = { product: "models", metric: "tokens" };

/**
 * Creates the clients of a product: for Gatehouse, for a Gatehouse that is down, for a slow one, and with a wrong token.
 *
 * @template T
 * @param {new (options: { url: string, operatorToken: string, timeoutMs?: number }) => T} Gatehouse
 * @param {import("./settings.ts").ProductSettings} settings
 */
export function clientsOf(Gatehouse, { gatehouseUrl: url, downUrl, slowUrl, operatorToken }) {
  return {
    gatehouse: new Gatehouse({ url, operatorToken }),
    down: new Gatehouse({ url: downUrl, operatorToken }),
    slow: new Gatehouse({ url: slowUrl, operatorToken, timeoutMs: 50 }),
    misconfigured: new Gatehouse({ url, operatorToken: "invalid" }),
  };
}

/** Does what the query of a request says, and can be watched while it does. */
export class Work {
  #released = [];
  #waiting = 0;
  #gone = 0;

  /**
   * Responds to a request.
   *
   * @param {Pick<Request, "url" | "signal">} request
   * @param {unknown} who The body of the response.
   */
  async respond(request, who) {
    const query = new URL(request.url).searchParams;
    const headers = { "x-tiles": query.get("tiles") ?? "1" };
    switch (query.get("do")) {
      case "fail":
        return Response.json({}, { status: 404 });
      case "throw":
        throw new Error("thrown by the handler");
      case "stream":
        return new Response(endlessStream(), { headers });
      case "break":
        return new Response(endlessStream().pipeThrough(breakingStream()), { headers });
      case "wait":
        this.#waiting++;
        request.signal.addEventListener("abort", () => this.#gone++);
        await new Promise((resolve) => this.#released.push(resolve));
    }
    return Response.json(who, { headers });
  }

  /** What handlers have found, by the name in the query of their request. */
  #found = new Map();

  /**
   * Options of `requireKey` for requests that hold 100 tokens and use as many as their query says.
   *
   * @template R
   * @param {(request: R) => URL} urlOf
   */
  holding(urlOf) {
    return {
      hold: (/** @type {R} */ request) => {
        const query = urlOf(request).searchParams;
        if (query.get("do") === "hold nothing") return [];
        return [{ ...tokens, quantity: Number(query.get("held") ?? 100) }, { ...runs, quantity: 1 }];
      },
      settle: (/** @type {unknown} */ _response, /** @type {R} */ request) => {
        const query = urlOf(request).searchParams;
        if (query.get("settle") === "throw") throw new Error("thrown by settle");
        if (query.get("settle") === "nonsense") return { ...tokens, quantity: NaN };
        if (query.get("settle") === "nothing") return [];
        const quantity = this.#found.get(query.get("name"));
        return quantity === undefined ? undefined : { ...tokens, quantity };
      },
    };
  }

  /**
   * Streams chunks, each of which is 10 tokens, and stops at the given number or waits for the next.
   *
   * @param {Pick<Request, "url" | "signal">} request
   */
  async generate(request) {
    const query = new URL(request.url).searchParams;
    const name = query.get("name");
    const chunks = Number(query.get("chunks") ?? 3);
    const doing = query.get("do");
    if (doing === "throw first") throw new Error("thrown by the handler");
    if (doing === "wait first") {
      this.#waiting++;
      request.signal.addEventListener("abort", () => this.#gone++);
      await new Promise((resolve) => this.#released.push(resolve));
    }
    if (doing === "throw") {
      this.#found.set(name, 10);
      throw new Error("thrown by the handler");
    }
    let sent = 0;
    const find = () => this.#found.set(name, ++sent * 10);
    return new Response(
      new ReadableStream({
        pull: async (controller) => {
          if (sent === chunks && doing === "stall") return await new Promise(() => {});
          if (sent === chunks) return controller.close();
          find();
          controller.enqueue(new TextEncoder().encode("chunk\n"));
        },
      }, { highWaterMark: 0 }),
    );
  }

  /** Lets all waiting requests continue. */
  release() {
    this.#released.splice(0).forEach((resolve) => resolve());
    return Response.json({});
  }

  /** @returns How many requests waited, how many of their clients have disconnected, and what handlers found. */
  state() {
    return Response.json({
      waiting: this.#waiting,
      gone: this.#gone,
      found: Object.fromEntries(this.#found),
    });
  }
}

/** Responds with what a model's API sends, as a proxy does, and settles with what its usage says. */
export class Model {
  #url;

  /** @param {string} url Of the model's API. */
  constructor(url) {
    this.#url = url;
  }

  /** Returns options of `requireKey`. */
  holding() {
    return {
      hold: () => ({ ...tokens, quantity: 1_000 }),
      settle: (
        /** @type {unknown} */ _response,
        /** @type {unknown} */ _request,
        /** @type {import("../../../../packages/client/src/index.ts").SentBody} */ { bytes, usage },
      ) =>
        usage && {
          ...tokens,
          quantity: usage.totalTokens,
          properties: { bytes: String(bytes), estimate: String(usage.isEstimate) },
        },
    };
  }

  /** @param {Pick<Request, "url" | "signal">} request */
  async ask({ url, signal }) {
    const { status, headers, body } = await fetch(`${this.#url}${new URL(url).search}`, { signal });
    return new Response(body, { status, headers: { "content-type": headers.get("content-type") ?? "" } });
  }
}

function endlessStream() {
  return new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) });
}

function breakingStream() {
  let chunks = 0;
  return new TransformStream({
    transform(chunk, controller) {
      if (++chunks > 2) throw new Error("broken while streaming");
      controller.enqueue(chunk);
    },
  });
}
