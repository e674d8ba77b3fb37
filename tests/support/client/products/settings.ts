// What the products in this folder have in common. Each protects the same paths with the middleware of its framework.

/** Where a product finds its services. */
export interface ProductSettings {
  readonly gatehouseUrl: string;
  readonly operatorToken: string;
  /** Its members alone may open `/team`. */
  readonly organizationId: string;
  /** An address where nothing listens. */
  readonly downUrl: string;
  /** An address that accepts connections and never responds. */
  readonly slowUrl: string;
}

/** A running product. */
export interface Product {
  readonly url: string;
  stop(): Promise<void>;
}

/** Does what the query of a request says, and can be watched while it does. */
export class Work {
  readonly #released: (() => void)[] = [];
  #waiting = 0;
  #gone = 0;

  /** Responds to a request. @param who The body of the response. */
  async respond(request: Request, who: unknown): Promise<Response> {
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
        await new Promise<void>((resolve) => this.#released.push(resolve));
    }
    return Response.json(who, { headers });
  }

  /** Lets all waiting requests continue. */
  release(): Response {
    this.#released.splice(0).forEach((resolve) => resolve());
    return Response.json({});
  }

  /** @returns How many requests waited, and how many of their clients have disconnected. */
  state(): Response {
    return Response.json({ waiting: this.#waiting, gone: this.#gone });
  }
}

function endlessStream(): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) });
}

function breakingStream(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let chunks = 0;
  return new TransformStream({
    transform(chunk, controller) {
      if (++chunks > 2) throw new Error("broken while streaming");
      controller.enqueue(chunk);
    },
  });
}
