// An MCP server with metered tools, served by @modelcontextprotocol/sdk over HTTP.
// deno-lint-ignore no-import-prefix
import { McpServer } from "npm:@modelcontextprotocol/sdk@1.32.2/server/mcp.js";
// deno-lint-ignore no-import-prefix
import { WebStandardStreamableHTTPServerTransport } from "npm:@modelcontextprotocol/sdk@1.32.2/server/webStandardStreamableHttp.js";
import { z } from "zod";
import { Gatehouse } from "../../../../packages/client/src/gatehouse.ts";
import { type CallExtra, callOf, meterTool, requireKeyFetch } from "../../../../packages/client/src/mcp.ts";
import type { Product } from "./settings.ts";

export const resourceMetadata = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

/** A call of `work`: how many tokens it uses, and how it then ends. */
export interface Job {
  readonly tokens?: number | undefined;
  readonly then: "return" | "fail" | "throw" | "use nothing" | "know nothing" | "use nonsense" | "wait";
}

export interface McpProduct extends Product {
  /** Calls of `work` that ran. */
  readonly runs: readonly Job[];
  /** The calls of `work` that wait, and how to let them go on. */
  readonly waiting: (() => void)[];
}

type Extra = CallExtra & { readonly signal: AbortSignal };

const tokens = (quantity: number) => ({ product: "models", metric: "tokens", quantity });
const content = (text: string) => ({ content: [{ type: "text" as const, text }] });

/** Starts the server. `/mcp` has sessions and `/stateless` has none; `/down` asks a Gatehouse that doesn't respond. */
export function startMcpProduct(
  { downUrl, ...settings }: { gatehouseUrl: string; operatorToken: string; downUrl: string },
): McpProduct {
  const { gatehouseUrl: url, operatorToken } = settings;
  const gatehouse = new Gatehouse({ url, operatorToken });
  const runs: Job[] = [];
  const waiting: (() => void)[] = [];
  const holding = new Gatehouse({ url: downUrl, operatorToken });

  function newServer(): McpServer {
    const server = new McpServer({ name: "tests", version: "1.0.0" });
    server.registerTool("free", { description: "Costs nothing." }, () => content("free"));
    const each = { product: "tools", metric: "calls", quantity: 1 };
    server.registerTool(
      "echo",
      {},
      meterTool({ gatehouse, tool: "echo", hold: each }, () => content("echo")),
    );
    server.registerTool(
      "unheld",
      {},
      meterTool({ gatehouse: holding, tool: "unheld", hold: each }, () => content("must not run")),
    );
    const job = { tokens: z.number().optional(), then: z.string() };
    const work = async ({ tokens: used, then }: Job, extra: Extra) => {
      runs.push({ tokens: used, then });
      const call = callOf(extra);
      if (used !== undefined) call.used = tokens(used);
      if (then === "throw") throw new Error("broken");
      if (then === "use nothing") call.used = [];
      if (then === "know nothing") call.used = null;
      if (then === "use nonsense") call.used = "many" as never;
      if (then === "wait") {
        await new Promise<void>((resolve, reject) => {
          waiting.push(resolve);
          extra.signal.addEventListener("abort", () => reject(new Error("canceled")));
        });
      }
      return { ...content("done"), isError: then === "fail" || then === "use nothing" };
    };
    server.registerTool(
      "work",
      { inputSchema: job },
      meterTool({ gatehouse, tool: "work", hold: [tokens(100)] }, work),
    );
    return server;
  }

  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const conditions = { gatehouse, resourceMetadata };
  const handlers: Record<string, (request: Request) => Response | Promise<Response>> = {
    "/mcp": requireKeyFetch(conditions, async (request, { authInfo }) => {
      const known = sessions.get(request.headers.get("mcp-session-id") ?? "");
      const transport = known ?? new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        onsessioninitialized: (id: string) => void sessions.set(id, transport),
      });
      if (known === undefined) await newServer().connect(transport);
      return await transport.handleRequest(request, { authInfo });
    }),
    "/stateless": requireKeyFetch({ gatehouse }, async (request, { authInfo }) => {
      const transport = new WebStandardStreamableHTTPServerTransport();
      await newServer().connect(transport);
      return await transport.handleRequest(request, { authInfo });
    }),
    "/restricted": requireKeyFetch(
      { ...conditions, permission: ["mcp:use", "mcp:admin"] },
      () => new Response("must not run"),
    ),
    "/down": requireKeyFetch({ gatehouse: holding }, () => new Response("must not run")),
  };
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => handlers[new URL(request.url).pathname]?.(request) ?? new Response(null, { status: 404 }),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    runs,
    waiting,
    async stop() {
      for (const transport of sessions.values()) await transport.close();
      await gatehouse.close();
      await server.shutdown();
    },
  };
}
