// An MCP server whose tools are metered: `geocode` costs 1 call, `write` what a model generates, and `regions` nothing.
import { randomUUID } from "node:crypto";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { Gatehouse } from "@gatehouse/client";
import { apiKeyOf, callOf, meterTool, requireKey } from "@gatehouse/client/mcp";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

// GATEHOUSE_URL and GATEHOUSE_OPERATOR_TOKEN are in the environment.
const gatehouse = new Gatehouse();
const tokens = (quantity) => ({ product: "models", metric: "tokens", quantity });
const text = (text) => ({ content: [{ type: "text", text }] });
const places = { berlin: "52.52, 13.40", lagos: "6.46, 3.39", lima: "-12.06, -77.04" };

/** Stands for a model that streams its tokens. */
async function* generate(prompt, { maxTokens, signal }) {
  const words = `Here is a text about ${prompt} that a model could have written.`.split(" ");
  for (const word of words.slice(0, maxTokens)) {
    await setTimeout(5, undefined, { signal });
    yield word;
  }
}

function newServer() {
  const server = new McpServer({ name: "example", version: "1.0.0" });

  server.registerTool("regions", { description: "Lists the places that geocode knows." }, () => {
    return text(Object.keys(places).join(", "));
  });

  const call = { product: "tools", metric: "calls", quantity: 1 };
  server.registerTool(
    "geocode",
    { description: "Returns the position of a place.", inputSchema: { place: z.string() } },
    meterTool({ gatehouse, tool: "geocode", hold: call }, ({ place }) => {
      const position = places[place.toLowerCase()];
      // An error costs nothing, because `used` isn't set.
      return position ? text(position) : { ...text(`Unknown place: ${place}.`), isError: true };
    }),
  );

  const inputSchema = { topic: z.string(), maxTokens: z.number().int().min(1).max(1_000).default(100) };
  const hold = ({ maxTokens }) => tokens(maxTokens);
  server.registerTool(
    "write",
    { description: "Writes about a topic.", inputSchema },
    meterTool({ gatehouse, tool: "write", hold }, async ({ topic, maxTokens }, extra) => {
      const words = [];
      // `extra.signal` is aborted when the client cancels the call or deletes the session.
      for await (const word of generate(topic, { maxTokens, signal: extra.signal })) {
        words.push(word);
        callOf(extra).used = tokens(words.length);
      }
      return text(words.join(" "));
    }),
  );
  return server;
}

/** By id, the oldest first. An id is no credential: a session belongs to the organization that began it. */
const sessions = new Map();
const sessionsMax = 1_000;

async function beginSession(organizationId) {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, { transport, organizationId }),
  });
  transport.onclose = () => sessions.delete(transport.sessionId);
  await newServer().connect(transport);
  const [oldest] = sessions.values();
  if (sessions.size >= sessionsMax) await oldest.transport.close();
  return transport;
}

const app = createMcpExpressApp();
app.all("/mcp", requireKey({ gatehouse }), async (request, response) => {
  const organizationId = apiKeyOf({ authInfo: request.auth }).organization.id;
  const session = sessions.get(request.get("mcp-session-id"));
  const isOwn = session?.organizationId === organizationId;
  if (!isOwn && !isInitializeRequest(request.body)) {
    const error = { code: -32001, message: "Session not found" };
    response.status(404).json({ jsonrpc: "2.0", error, id: null });
    return;
  }
  const transport = isOwn ? session.transport : await beginSession(organizationId);
  await transport.handleRequest(request, response, request.body);
});

const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
process.once("SIGTERM", async () => {
  server.close();
  for (const { transport } of sessions.values()) await transport.close();
  // Waits until what was used is recorded.
  await gatehouse.close();
  process.exit();
});
