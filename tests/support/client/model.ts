// A server that responds as the APIs of OpenAI and Anthropic do: with a body of model_bodies.ts, whole or up to a byte.
import { modelBodies } from "./model_bodies.ts";

export interface FakeModel {
  readonly url: string;
  /** Lets responses that wait after their first bytes continue. */
  release(): void;
  stop(): Promise<void>;
}

/** @returns The query of a request. `bytes`: sends only so many, and then the rest after {@linkcode FakeModel.release}. */
export function modelQuery(name: string, bytes?: number): string {
  return `${new URLSearchParams({ name, ...bytes === undefined ? {} : { bytes: String(bytes) } })}`;
}

export function startModel(): FakeModel {
  const waiting: (() => void)[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    const query = new URL(request.url).searchParams;
    const found = modelBodies[query.get("name") ?? ""];
    if (found === undefined) return Response.json({ error: { message: "no such model" } }, { status: 404 });
    const bytes = new TextEncoder().encode(found.text);
    const first = query.get("bytes");
    const headers = { "content-type": found.type };
    if (first === null) return new Response(bytes, { headers });
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(bytes.subarray(0, Number(first)));
        await new Promise<void>((resolve) => waiting.push(resolve));
        try {
          controller.enqueue(bytes.subarray(Number(first)));
          controller.close();
        } catch {
          // The client has disconnected.
        }
      },
    });
    return new Response(body, { headers });
  });
  const release = () => waiting.splice(0).forEach((resolve) => resolve());
  return {
    url: `http://127.0.0.1:${server.addr.port}/`,
    release,
    async stop() {
      release();
      await server.shutdown();
    },
  };
}
