// A running Gatehouse, an MCP server that it meters, and customers who use the SDK's client.
// deno-lint-ignore no-import-prefix
import { Client } from "npm:@modelcontextprotocol/sdk@1.32.2/client/index.js";
// deno-lint-ignore no-import-prefix
import { StreamableHTTPClientTransport } from "npm:@modelcontextprotocol/sdk@1.32.2/client/streamableHttp.js";
import assert from "node:assert/strict";
import { freePort } from "../database/sqld.ts";
import { sendJson } from "../process/journey.ts";
import { onServer, type Scene } from "../process/scene.ts";
import { type McpProduct, startMcpProduct } from "./products/mcp_product.ts";

export const mcpScopes =
  "keys:verify,keys:write,usage:read,usage:write,organizations:read,organizations:write,statements:write";

export interface McpCustomer {
  readonly organizationId: string;
  readonly keyId: string;
  readonly apiKey: string;
}

/** The result of a tool's call. */
export interface ToolResult {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
  readonly _meta?: { readonly "gatehouse/error"?: { readonly code: string; readonly retryAfter?: number } };
}

/** Calls the operators' API. @returns The body of the response. */
// deno-lint-ignore no-explicit-any
export type Operate = (method: string, path: string, json?: unknown) => Promise<any>;

export interface McpScene {
  readonly operate: Operate;
  readonly product: McpProduct;
  newCustomer(overrides?: Record<string, unknown>): Promise<McpCustomer>;
  /** Connects the SDK's client, runs a function, and closes the client. */
  connected<T>(customer: McpCustomer, use: (client: McpClient) => Promise<T>): Promise<T>;
  /** Returns the sums of a metric by tool. */
  byTool(customer: McpCustomer, metric: string): Promise<Record<string, number>>;
  /** Returns the status and the quantities of the customer's holds, the newest first. */
  holds(customer: McpCustomer): Promise<string[]>;
}

export interface McpClient {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  call(name: string, args?: object, signal?: AbortSignal): Promise<ToolResult>;
}

/** Runs with the SDK's client, connected to an MCP server. */
export async function withMcpClient<T>(
  url: string,
  apiKey: string,
  use: (client: McpClient) => Promise<T>,
): Promise<T> {
  const client = new Client({ name: "tests", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { Authorization: `Bearer ${apiKey}` } },
  });
  await client.connect(transport);
  try {
    const call: McpClient["call"] = async (name, args = {}, signal) =>
      await client.callTool({ name, arguments: { ...args } }, undefined, signal && { signal }) as ToolResult;
    return await use({ client, transport, call });
  } finally {
    await client.close();
  }
}

/** Creates a token and products whose metrics have the dimension `tool`. */
export async function prepareMetering({ baseUrl, run }: Scene): Promise<[operate: Operate, token: string]> {
  const apiKey = (await run("token", "create", "MCP", "--scope", mcpScopes)).stdout.trim();
  const operate: Operate = async (method, path, json) => {
    const response = await sendJson(baseUrl, `/api/operator/${path}`, { method, apiKey, json });
    const text = await response.text();
    assert(response.ok, `${method} ${path}: ${text}`);
    return text === "" ? null : JSON.parse(text);
  };
  for (const [slug, metric] of [["tools", "calls"], ["models", "tokens"]]) {
    const metrics = [{ slug: metric, name: metric, dimensions: [["tool"]] }];
    await operate("POST", "products", { slug, name: slug, metrics });
  }
  return [operate, apiKey];
}

export async function createMcpCustomer(operate: Operate, overrides?: object): Promise<McpCustomer> {
  const { organization: { id } } = await operate("POST", "organizations", { name: "Customer" });
  if (overrides !== undefined) await operate("PATCH", `organizations/${id}`, { overrides });
  const json = { name: "Agent", permissions: ["mcp:use"] };
  const { apiKey, fullKey } = await operate("POST", `organizations/${id}/api-keys`, json);
  return { organizationId: id, keyId: apiKey.id, apiKey: fullKey };
}

export async function sumsByTool(
  operate: Operate,
  { organizationId }: McpCustomer,
  metric: string,
): Promise<Record<string, number>> {
  const query = `window=month&organizationId=${organizationId}&metric=${metric}&groupBy=properties.tool`;
  const { data } = await operate("GET", `usage?${query}`);
  return Object.fromEntries(
    data.map(({ properties, sum }: { properties: { tool: string }; sum: number }) => [properties.tool, sum]),
  );
}

export function withMcpScene(test: (scene: McpScene) => Promise<void>): Promise<void> {
  return onServer({ env: { API_KEY_REQUESTS_PER_SECOND: "0" } }, async (scene) => {
    const [operate, operatorToken] = await prepareMetering(scene);
    const downUrl = `http://127.0.0.1:${freePort()}`;
    const product = startMcpProduct({ gatehouseUrl: scene.baseUrl, operatorToken, downUrl });
    try {
      await test({
        operate,
        product,
        newCustomer: (overrides) => createMcpCustomer(operate, overrides),
        connected: ({ apiKey }, use) => withMcpClient(`${product.url}/mcp`, apiKey, use),
        byTool: (customer, metric) => sumsByTool(operate, customer, metric),
        async holds({ organizationId }) {
          const { holds } = await operate("GET", `holds?organizationId=${organizationId}`);
          return holds.map(({ status }: { status: string }) => status);
        },
      });
    } finally {
      await product.stop();
    }
  });
}
