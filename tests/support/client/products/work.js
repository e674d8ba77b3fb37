// What the handlers of all products do. Node.js runs it, too.

export const runs = { product: "jobs", metric: "runs" };

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

  /** Lets all waiting requests continue. */
  release() {
    this.#released.splice(0).forEach((resolve) => resolve());
    return Response.json({});
  }

  /** @returns How many requests waited, and how many of their clients have disconnected. */
  state() {
    return Response.json({ waiting: this.#waiting, gone: this.#gone });
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
