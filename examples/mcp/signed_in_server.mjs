// An MCP server that people sign in to with Gatehouse. Each call of a tool is metered, and stops at their organization's budget.
import process from "node:process";
import { Gatehouse } from "@gatehouse/client";
import { accessOf, meterTool, requireToken } from "@gatehouse/client/mcp";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

// GATEHOUSE_URL and GATEHOUSE_OPERATOR_TOKEN are in the environment.
const gatehouse = new Gatehouse();
const { PORT = "3000", RESOURCE_ID, RESOURCE_SECRET } = process.env;
const text = (text) => ({ content: [{ type: "text", text }] });
const places = { berlin: "52.52, 13.40", lagos: "6.46, 3.39", lima: "-12.06, -77.04" };

function newServer() {
  const server = new McpServer({ name: "example", version: "1.0.0" });
  server.registerTool("whose", { description: "Tells for whom you are signed in." }, (extra) => {
    const { organization } = accessOf(extra);
    return text(`${organization.name}, ${organization.role}`);
  });
  const call = { product: "tools", metric: "calls", quantity: 1 };
  server.registerTool(
    "geocode",
    { description: "Returns the position of a place.", inputSchema: { place: z.string() } },
    meterTool({ gatehouse, tool: "geocode", hold: call }, ({ place }) => {
      const position = places[place.toLowerCase()];
      // An error costs nothing.
      return position ? text(position) : { ...text(`Unknown place: ${place}.`), isError: true };
    }),
  );
  return server;
}

const app = createMcpExpressApp();
app.use(requireToken({
  gatehouse,
  uri: `http://127.0.0.1:${PORT}/mcp`,
  id: RESOURCE_ID,
  secret: RESOURCE_SECRET,
  scopes: ["tools:call"],
  scope: "tools:call",
}));
app.post("/mcp", async (request, response) => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  response.on("close", () => transport.close());
  await newServer().connect(transport);
  await transport.handleRequest(request, response, request.body);
});

const server = app.listen(Number(PORT), "127.0.0.1");
process.once("SIGTERM", async () => {
  server.close();
  // Waits until what was used is recorded.
  await gatehouse.close();
  process.exit();
});
