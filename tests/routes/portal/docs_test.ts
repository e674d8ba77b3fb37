// The API reference: it covers the whole OpenAPI document, is rendered once, and its commands work.
import assert from "node:assert/strict";
import { Hono } from "hono";
import { errorStatuses } from "../../../domain/errors.ts";
import type { JsonSchemas } from "../../../routes/api/openapi/examples.ts";
import type { OpenApiDocument, Operation } from "../../../routes/api/openapi/openapi.ts";
import { assetRoutes } from "../../../routes/assets.ts";
import type { AppEnv } from "../../../routes/env.ts";
import { docsContent, docsRoutes } from "../../../routes/portal/docs.ts";
import { createTestKey, startTestApp, testApp } from "../../support/app.ts";
import { documentOf } from "../../support/documented.ts";
import { openPage } from "../../support/pages.ts";
import { freePort } from "../../support/sqld.ts";
import { publicBadge } from "../../../views/docs.tsx";

testApp(
  "/docs publicly lists every operation, error, parameter and field of the OpenAPI document",
  async (test) => {
    const { status, html, answer: response } = await openPage(test, "/docs");
    assert.equal(status, 200);
    assert.match(response.headers.get("cache-control") ?? "", /^public/);
    assert.match(html, /href="\/api\/openapi\.json"/);
    const document = documentOf(test.app);
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const { operationId, summary } = operation;
        const part = html.split(`<article class="card docs-operation" id="${operationId}"`)[1]?.split(
          "</article>",
        )[0];
        assert.ok(part, operationId);
        assert.ok(html.includes(`<li><a href="#${operationId}">`), `${operationId} is not in the index`);
        assert.ok(
          part.includes(`<strong>${method.toUpperCase()}</strong> <code>${path}</code>`),
          operationId,
        );
        assert.ok(part.includes(summary.replaceAll("'", "&#39;")), operationId);
        for (const { name } of operation.parameters ?? []) {
          assert.ok(
            part.includes(`<code>${name}</code>`),
            name,
          );
        }
        for (const [status, { $ref, headers }] of Object.entries(operation.responses)) {
          for (const [name, header] of Object.entries(headers ?? {})) {
            if (header.$ref === undefined) assert.ok(part.includes(`<code>${name}</code>`), name);
          }
          const codes = $ref?.split("/").at(-1)?.split("_or_") ?? [];
          if ($ref === undefined) {
            assert.ok(
              part.includes(`<strong>${status}</strong>`),
              `${operationId} ${status}`,
            );
          }
          for (const code of codes) {
            assert.ok(
              part.includes(`href="#error-${code}"`),
              `${operationId} ${code}`,
            );
          }
        }
      }
    }
    // This operation accepts anonymous callers, but its example command sends a session.
    const me = html.split(`id="getSessionUser"`)[1]?.split("</article>")[0] ?? "";
    assert.match(me, new RegExp(`${publicBadge}[^]*access_token=\\$ACCESS_TOKEN`));
    for (const code of Object.keys(errorStatuses)) assert.ok(html.includes(`id="error-${code}"`), code);
    for (const { properties = {} } of Object.values(document.components.schemas)) {
      for (const name of Object.keys(properties)) {
        assert.match(
          html,
          new RegExp(`<code>(\\S*[.])?${name}</code>`),
        );
      }
    }
  },
);

testApp(
  "/docs loads nothing from other servers, has no inline scripts, and is rendered once",
  async (test) => {
    const { html } = await openPage(test, "/docs");
    assert.doesNotMatch(html, /<script(?![^>]* src="\/static\/)|style="|<iframe/);
    const loaded = [...html.matchAll(/<(?:script|link|img)[^>]+(?:src|href)="([^"]+)"/g)].map((found) =>
      found[1]
    );
    assert.ok(loaded.length > 2 && loaded.every((address) => address?.startsWith("/static/")), loaded.join());
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map((found) => found[1]);
    assert.equal(new Set(ids).size, ids.length);
    const app = new Hono<AppEnv>();
    let builds = 0;
    docsRoutes(app, {
      assets: assetRoutes(app),
      document() {
        builds++;
        return documentOf(test.app);
      },
    });
    assert.equal(builds, 0);
    const pages = await Promise.all([app.request("/docs"), app.request("/docs")]);
    assert.equal(await pages[0].text(), await pages[1].text());
    await app.request("/docs");
    assert.equal(builds, 1);
  },
);

Deno.test("the example command of /docs records usage", async () => {
  const port = freePort();
  const test = await startTestApp({ PORT: String(port), BASE_URL: `http://localhost:${port}` });
  const server = Deno.serve(
    { port, hostname: "127.0.0.1", onListen() {} },
    (request) => test.app.fetch(request),
  );
  try {
    const { fullKey } = await createTestKey(test, await test.signUp());
    const { html } = await openPage(test, "/docs");
    const shown = /<pre id="curl-recordUsage">([^<]+)</.exec(html)?.[1] ?? "";
    const command = shown.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");
    const { stdout } = await new Deno.Command("bash", {
      args: ["-c", command.replace("curl ", "curl --silent --show-error --fail-with-body ")],
      env: { API_KEY: fullKey },
    }).output();
    const { usageRecord } = JSON.parse(new TextDecoder().decode(stdout));
    assert.equal(usageRecord.quantity, 1);
    assert.deepEqual(usageRecord.properties, { region: "eu-central" });
  } finally {
    await server.shutdown();
    await test.dispose();
  }
});

Deno.test("docsContent() describes limits in words and quotes arguments for the shell", () => {
  const schemas: JsonSchemas = { Kind: { type: "string", enum: ["a", "b"], description: "Which." } };
  const operation: Operation = {
    operationId: "rename",
    tags: ["Things"],
    summary: "Rename a thing",
    security: [{ session: [] }],
    parameters: [{
      name: "limit",
      in: "query",
      schema: { type: "integer", minimum: 1, maximum: 100, default: 50 },
    }],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: {
            type: "object",
            properties: {
              kind: { $ref: "#/components/schemas/Kind" },
              list: {
                type: "array",
                items: { type: "object", properties: { name: { type: "string", maxLength: 3 } } },
              },
              at: { type: ["string", "null"], format: "date-time" },
            },
            required: ["kind"],
          },
          example: { kind: "it's $HOME" },
        },
      },
    },
    responses: {
      204: { description: "Done." },
      403: { $ref: "#/components/responses/forbidden_or_cross_site", description: "" },
    },
  };
  const document = {
    openapi: "3.1.0",
    info: { title: "T", version: "1", description: "" },
    servers: [{ url: "https://auth.example.com" }],
    tags: [{ name: "Things", description: "" }, { name: "Empty", description: "" }],
    paths: { "/api/things/{id}": { patch: operation } },
    components: { schemas: { ...schemas, Error: { type: "object" } }, responses: {}, securitySchemes: {} },
  } satisfies OpenApiDocument;
  const { groups } = docsContent(document);
  assert.equal(groups.length, 1);
  const shown = groups[0]?.operations[0];
  assert.deepEqual(shown?.parameters[0]?.type, "in the query, integer, 1 to 100, default 50");
  assert.deepEqual(shown?.bodies[0]?.fields.map(({ name, type, isRequired }) => [name, type, isRequired]), [
    ["kind", "one of a, b", true],
    ["list", "list", false],
    ["list[].name", "string, up to 3 characters", false],
    ["at", "time, or null", false],
  ]);
  assert.deepEqual(shown?.errors, [{ code: "forbidden", status: 403 }, { code: "cross_site", status: 403 }]);
  assert.deepEqual(shown?.schemes, ["Session"]);
  assert.doesNotMatch(shown?.curl ?? "", /Origin/);
  assert.ok(shown?.curl.includes(`it'\\''s $HOME`), shown?.curl);
});
