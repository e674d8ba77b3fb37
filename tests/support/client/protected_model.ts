// A handler behind requireKey that responds with bytes of a model's API, and a stand-in for Gatehouse that notes how holds end.
import { requireKey } from "../../../packages/client/src/fetch.ts";
import { Gatehouse } from "../../../packages/client/src/gatehouse.ts";

interface Body {
  readonly first: Uint8Array<ArrayBuffer>;
  readonly rest: Uint8Array<ArrayBuffer>;
  /** After the first bytes: the client disconnects, the model's API fails, or the rest follows. */
  readonly end: "canceled" | "broken" | "whole";
}

export interface ProtectedModel {
  /** @returns The bytes that the client got. */
  respond(body: Body): Promise<Uint8Array>;
  /** @returns How holds have ended since the last call, when they have. */
  ended(): Promise<readonly string[]>;
  close(): Promise<unknown>;
}

export type ProtectedOptions = Pick<Parameters<typeof requireKey>[0], "hold" | "settle">;

export function protectedModel(options: ProtectedOptions): ProtectedModel {
  const hold = { id: "hld_1", status: "active", expiresAt: new Date(Date.now() + 600_000).toISOString() };
  const verification = {
    valid: true,
    code: "VALID",
    apiKey: { id: "key_1" },
    organization: {},
    limits: [],
    hold,
  };
  const ends: string[] = [];
  const gatehouse = new Gatehouse({
    url: "https://auth.example.com",
    operatorToken: "token",
    fetch: (input, init) => {
      const act = new URL(String(input)).pathname.split("/").at(-1);
      if (act === "verify") return Promise.resolve(Response.json(verification));
      const { records } = JSON.parse(String(init?.body));
      ends.push(act === "settle" ? `settled ${records[0].quantity}` : "released");
      return Promise.resolve(Response.json({ hold, usageRecords: [], beyond: [], limits: [] }));
    },
  });
  let body: ReadableStream<Uint8Array>;
  const handle = requireKey({ gatehouse, ...options }, () => new Response(body));
  return {
    async respond({ first, rest, end }) {
      const parts = [first, ...end === "whole" ? [rest] : []].filter(({ length }) => length > 0);
      body = new ReadableStream({
        pull(controller) {
          const part = parts.shift();
          if (part !== undefined) return controller.enqueue(part);
          if (end === "whole") return controller.close();
          if (end === "broken") return controller.error(new Error("broken"));
          return new Promise(() => {});
        },
      }, { highWaterMark: 0 });
      const headers = { authorization: "Bearer key" };
      const response = await handle(new Request("https://app.example.com", { headers }));
      const reader = response.body!.getReader();
      const got: number[] = [];
      while (end !== "canceled" || got.length < first.length) {
        const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
        if (done || value === undefined) break;
        got.push(...value);
      }
      await reader.cancel().catch(() => {});
      return Uint8Array.from(got);
    },
    async ended() {
      await gatehouse.close();
      return ends.splice(0);
    },
    close: () => gatehouse.close(),
  };
}
