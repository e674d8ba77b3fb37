// docs/mcp.md and examples/mcp/: the package and the SDK are installed with npm, and the example runs under Node.js against the real
// program.
import assert from "node:assert/strict";
// deno-lint-ignore no-import-prefix
import ts from "npm:typescript@5.9.3";
import {
  createMcpCustomer,
  type McpCustomer,
  type Operate,
  prepareMetering,
  sumsByTool,
  withMcpClient,
} from "../support/client/mcp_scene.ts";
import { npm, packClient } from "../support/client/package.ts";
import { freePort } from "../support/database/sqld.ts";
import { onServer } from "../support/process/scene.ts";
import {
  installGatehouse,
  readExamples,
  readGuide,
  runLines,
  startCommand,
} from "../support/runner/guides.ts";
import { isMissing } from "../support/runner/needs.ts";
import { poll } from "../support/runner/poll.ts";

const guide = await readGuide("mcp.md");
const example = readExamples("mcp")("mcp_server.mjs");

/** Uses of the middleware that the compiler must accept with the SDK's types, and errors that it must find. */
const program = `
import { Gatehouse } from "@gatehouse/client";
import { apiKeyOf, callOf, meterTool, requireKey, requireKeyFetch } from "@gatehouse/client/mcp";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { z } from "zod";

const gatehouse = new Gatehouse();
const tokens = (quantity: number) => ({ product: "models", metric: "tokens", quantity });
const content = (text: string) => ({ content: [{ type: "text" as const, text }] });
const server = new McpServer({ name: "types", version: "1.0.0" });
const config = { inputSchema: { text: z.string() } };
const tool = "summarize";
server.registerTool(tool, config,
  meterTool({ gatehouse, tool, hold: ({ text }, { requestId }) => tokens(text.length), expiresIn: 60, onExpiry: "record" },
    async ({ text }, extra) => {
      callOf(extra).used = extra.signal.aborted ? [] : [tokens(text.trim().length)];
      return content(apiKeyOf(extra).organization.name);
    }));
server.registerTool("now", {}, meterTool({ gatehouse, tool: "now", hold: [tokens(1)] }, (extra) => content(extra.sessionId ?? "")));
// @ts-expect-error: no such argument
server.registerTool(tool, config, meterTool({ gatehouse, tool, hold: ({ txt }) => tokens(txt) }, ({ text }) => content(text)));
// @ts-expect-error: no result
server.registerTool(tool, config, meterTool({ gatehouse, tool, hold: tokens(1) }, ({ text }) => text));
// @ts-expect-error: no quantity
meterTool({ gatehouse, tool, hold: { product: "models", metric: "tokens" } }, () => content(""));
// @ts-expect-error: no such option
requireKey({ gatehouse, meter: tokens(1) });
createMcpExpressApp().all("/mcp", requireKey({ gatehouse, permission: "mcp:use", addressFrom: (request) => request.ip }));
export const handler = requireKeyFetch({ gatehouse, feature: ["mcp"] }, async (request, { authInfo }) => {
  const transport = new WebStandardStreamableHTTPServerTransport();
  await server.connect(transport);
  return transport.handleRequest(request, { authInfo });
});
`;

function compile(folder: string): void {
  const compiled = ts.createProgram([`${folder}/program.ts`], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    typeRoots: [`${folder}/node_modules/@types`],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
  });
  const messages = ts.getPreEmitDiagnostics(compiled).map(({ messageText, file, start = 0 }) =>
    `${file?.fileName}:${(file?.text ?? "").slice(0, start).split("\n").length}: ` +
    ts.flattenDiagnosticMessageText(messageText, "\n")
  );
  assert.deepEqual(messages, []);
}

/** The customer of the page calls the tools with its client, and each tool costs what the page says. */
async function callsTools(
  { folder, url, operate, customer }: {
    folder: string;
    url: string;
    operate: Operate;
    customer: McpCustomer;
  },
): Promise<void> {
  await Deno.writeTextFile(
    `${folder}/client.mjs`,
    guide("client.mjs").replace("http://127.0.0.1:3000/mcp", url),
  );
  const env = { CUSTOMERS_KEY: customer.apiKey };
  assert.equal(
    await runLines("node client.mjs", { cwd: folder, env }),
    "regions, geocode, write\n-12.06, -77.04\nHere is a text about\n",
  );
  const usage = async () => [
    await sumsByTool(operate, customer, "calls"),
    await sumsByTool(operate, customer, "tokens"),
  ];
  const expected = [{ geocode: 1 }, { write: 5 }];
  await poll(async () => JSON.stringify(await usage()) === JSON.stringify(expected));
  await withMcpClient(url, customer.apiKey, async ({ call }) => {
    assert.match((await call("regions")).content[0]?.text ?? "", /berlin/);
    assert.equal((await call("geocode", { place: "Atlantis" })).isError, true);
    // Beyond the limit of 20 tokens.
    const { isError, _meta } = await call("write", { topic: "bees" });
    assert.deepEqual([isError, _meta?.["gatehouse/error"]?.code], [true, "limit_exceeded"]);
  });
  assert.deepEqual(await usage(), expected);
}

/** A session belongs to the organization that began it, and ends when it is deleted. */
async function keepsSessionsApart(url: string, mine: McpCustomer, others: McpCustomer): Promise<void> {
  await withMcpClient(url, mine.apiKey, async ({ client, transport }) => {
    const statusOf = async (method: string, apiKey: string | null) => {
      const response = await fetch(url, {
        method,
        headers: {
          "mcp-session-id": transport.sessionId ?? assert.fail(),
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
        },
        ...(method === "POST" ? { body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }) } : {}),
      });
      await response.body?.cancel();
      return response.status;
    };
    for (const method of ["POST", "GET", "DELETE"]) {
      assert.equal(await statusOf(method, null), 401, method);
      assert.equal(await statusOf(method, others.apiKey), 404, method);
    }
    // The client has opened the stream of this session.
    await poll(async () => await statusOf("GET", mine.apiKey) === 409);
    await client.ping();
    assert.equal(await statusOf("DELETE", mine.apiKey), 200);
    assert.equal(await statusOf("POST", mine.apiKey), 404);
  });
}

Deno.test({
  name: "the MCP guide: the example meters its tools, and the middleware has types for the SDK",
  ignore: isMissing("node", "npm"),
  fn: () =>
    onServer({}, async (scene) => {
      const { folder, baseUrl } = scene;
      const [operate] = await prepareMetering(scene);
      const { pathname } = new URL(`file://${await packClient(folder)}`);
      const [, , address = "", ...packages] = guide("install").trim().split(" ");
      assert.equal(address, `https://auth.example.com/download/${pathname.split("/").at(-1)}`);
      await Deno.writeTextFile(`${folder}/package.json`, JSON.stringify({ type: "module" }));
      await npm(`install ${pathname} ${packages.join(" ")} @types/node@20 @types/express@5`, folder);
      await Deno.writeTextFile(`${folder}/program.ts`, program);
      compile(folder);

      await Deno.writeTextFile(`${folder}/mcp_server.mjs`, example);
      const unindented = example.replaceAll(/^ {2}/gm, "");
      assert.ok(unindented.includes(guide("meterTool")), "the example differs from the guide");
      const bin = await installGatehouse(folder);
      const env = { PATH: `${bin}:${Deno.env.get("PATH")}` };
      const printed = await runLines(`${guide("token")}\necho $GATEHOUSE_OPERATOR_TOKEN`, {
        cwd: folder,
        env,
      });
      const port = String(freePort());
      const server = startCommand(guide("start").replace("https://auth.example.com", baseUrl), {
        cwd: folder,
        env: { GATEHOUSE_OPERATOR_TOKEN: printed.trim(), PORT: port },
      });
      const url = `http://127.0.0.1:${port}/mcp`;
      try {
        await poll(async () => {
          const response = await fetch(url).catch(() => null);
          await response?.body?.cancel();
          return response?.headers.get("www-authenticate") === 'Bearer realm="mcp"';
        });
        const limit = { productSlug: "models", metric: "tokens", per: "month", quantity: 20, mode: "hard" };
        const customer = await createMcpCustomer(operate, { limits: [limit] });
        await callsTools({ folder, url, operate, customer });
        await keepsSessionsApart(url, customer, await createMcpCustomer(operate));
        assert.equal(await server.stop(), 0, server.output());
      } catch (error) {
        throw new Error(server.output(), { cause: error });
      } finally {
        await server.stop("SIGKILL");
      }
    }),
});
