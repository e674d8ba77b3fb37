// The examples that people sign in to, run under Node.js against a served app: the MCP server of examples/mcp/ from the first request
// without a token to the first call that its budget rejects, and the tool of examples/command-line/.
import assert from "node:assert/strict";
import { changeClient } from "../../services/oauth/mod.ts";
import { startTestApp, type TestApp } from "../support/app/app.ts";
import { withMcpClient } from "../support/client/mcp_scene.ts";
import { npm, packClient } from "../support/client/package.ts";
import { freePort } from "../support/database/sqld.ts";
import { deviceGrant, issue, newClient, newMember, newResource } from "../support/oauth/issued.ts";
import { commandLineActor, newOperatorToken } from "../support/operators/operators.ts";
import { readExamples, startCommand } from "../support/runner/guides.ts";
import { isMissing } from "../support/runner/needs.ts";
import { poll } from "../support/runner/poll.ts";

/** Runs a test with an app that programs reach, and a folder for them. */
async function served(run: (test: TestApp, folder: string) => Promise<void>): Promise<void> {
  const port = freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const test = await startTestApp({
    PORT: String(port),
    BASE_URL: baseUrl,
    SECRETS_KEY: btoa("7".repeat(32)),
  });
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-examples-" });
  const server = Deno.serve({ port, hostname: "127.0.0.1", onListen() {} }, (request, { remoteAddr }) => {
    // As much later as devices wait between their requests.
    if (new URL(request.url).pathname === "/oauth/token") test.advance(5_000);
    return test.app.fetch(request, { remoteAddr });
  });
  try {
    await run(test, folder);
  } finally {
    await server.shutdown();
    await test.dispose();
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test({
  name: "people sign in to the MCP server of the example, and its tools stop at their organization's budget",
  ignore: isMissing("node", "npm"),
  fn: () =>
    served(async (test, folder) => {
      const person = await newMember(test);
      const client = await newClient(test);
      const port = freePort();
      const url = `http://127.0.0.1:${port}/mcp`;
      const { resource, secret } = await newResource(test, { uri: url });
      const { fullToken } = await newOperatorToken(test);
      const operate = async (method: string, path: string, json: unknown) => {
        const response = await test.send(`/api/operator/${path}`, { method, apiKey: fullToken, json });
        assert.ok(response.ok, `${path}: ${await response.text()}`);
      };
      await operate("POST", "products", {
        slug: "tools",
        name: "Tools",
        metrics: [{ slug: "calls", name: "Calls" }],
      });
      const budget = { productSlug: "tools", metric: "calls", per: "month", quantity: 2, mode: "hard" };
      await operate("PATCH", `organizations/${person.organizationId}`, { overrides: { limits: [budget] } });

      await Deno.writeTextFile(`${folder}/server.mjs`, readExamples("mcp")("signed_in_server.mjs"));
      await Deno.writeTextFile(`${folder}/package.json`, JSON.stringify({ type: "module" }));
      await npm(`install ${await packClient(folder)} @modelcontextprotocol/sdk@1.32.2 zod@4`, folder);
      const server = startCommand("node server.mjs", {
        cwd: folder,
        env: {
          GATEHOUSE_URL: test.config.baseUrl.origin,
          GATEHOUSE_OPERATOR_TOKEN: fullToken,
          PORT: String(port),
          RESOURCE_ID: resource.id,
          RESOURCE_SECRET: secret,
        },
      });
      const ask = async (token?: string) => {
        const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const response = await fetch(url, { method: "POST", headers });
        await response.body?.cancel();
        return { status: response.status, challenge: response.headers.get("www-authenticate") ?? "" };
      };
      try {
        await poll(() => ask().then(({ status }) => status === 401, () => false));
        const metadata =
          `resource_metadata="http://127.0.0.1:${port}/.well-known/oauth-protected-resource/mcp"`;
        assert.equal((await ask()).challenge, `Bearer scope="tools:call", ${metadata}`);
        const found = await fetch((await ask()).challenge.match(/http[^"]+/)?.[0] ?? "");
        assert.deepEqual(await found.json(), {
          resource: url,
          authorization_servers: [test.config.baseUrl.origin],
          scopes_supported: ["tools:call"],
          bearer_methods_supported: ["header"],
        });
        const tokenFor = async (scope: string, uri?: string): Promise<string> =>
          (await issue(test, { person, client, scope, ...uri && { resource: uri } })).access_token;
        const token = await tokenFor("tools:call", url);
        assert.deepEqual(await ask(await tokenFor("tools:list", url)), {
          status: 403,
          challenge: `Bearer error="insufficient_scope", scope="tools:call", ${metadata}`,
        });
        // A token for this server alone works here.
        const { status, challenge } = await ask(await tokenFor("openid"));
        assert.deepEqual([status, challenge.startsWith('Bearer error="invalid_token"')], [401, true]);

        await withMcpClient(url, token, async ({ call }) => {
          const textOf = async (name: string, args?: object) => {
            const { content, _meta } = await call(name, args);
            return _meta?.["gatehouse/error"]?.code ?? content[0]?.text;
          };
          assert.match(await textOf("whose") ?? "", /, OWNER$/);
          assert.equal(await textOf("geocode", { place: "Lima" }), "-12.06, -77.04");
          assert.match(await textOf("geocode", { place: "Atlantis" }) ?? "", /^Unknown/);
          // The hold of the call that failed is released in the background.
          await poll(async () => await textOf("geocode", { place: "Lagos" }) === "6.46, 3.39");
          assert.equal(await textOf("geocode", { place: "Berlin" }), "limit_exceeded");
        });
        const record = await test.opened.database.readFirst<{ properties: string }>({
          sql: "SELECT properties FROM usage_records LIMIT 1",
          args: [],
        });
        assert.deepEqual(JSON.parse(record?.properties ?? "{}"), { tool: "geocode", user: person.userId });

        await test.send("/api/auth/sign-out", { method: "POST", cookie: person.cookie, json: {} });
        assert.equal((await ask(token)).status, 401);
        assert.equal(await server.stop(), 0, server.output());
      } finally {
        await server.stop("SIGKILL");
      }
    }),
});

Deno.test({
  name: "people sign in to the command-line tool of the example with a code in their browser",
  ignore: isMissing("node"),
  fn: () =>
    served(async (test, folder) => {
      const person = await newMember(test, "Ada Lovelace");
      const { id } = await newClient(test, { name: "Who", isPublic: true, grants: [deviceGrant] });
      await changeClient(test.services, commandLineActor, { id, scopes: ["openid", "profile"] });
      await Deno.writeTextFile(`${folder}/who.mjs`, readExamples("command-line")("who.mjs"));
      const env = { GATEHOUSE_URL: test.config.baseUrl.origin, CLIENT_ID: id };
      const tool = startCommand("node who.mjs", { cwd: folder, env });
      try {
        await poll(() => /enter/.test(tool.output()));
        const [, code = ""] = /enter (\S+)/.exec(tool.output()) ?? [];
        const { cookie, organizationId: organization } = person;
        await test.send("/device", { cookie, form: { user_code: code } });
        await test.send("/device/decision", {
          cookie,
          form: { user_code: code, decision: "allow", organization },
        });
        assert.equal(await tool.ended, 0, tool.output());
        assert.match(tool.output(), /^Ada Lovelace, /m);
      } finally {
        await tool.stop("SIGKILL");
      }
    }),
});
