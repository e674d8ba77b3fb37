// Operators manage the APIs and MCP servers for which applications get tokens.
import assert from "node:assert/strict";
import { testApp } from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";

const path = "/api/operator/resources";

testApp("operators add, change, rotate and delete resources, whose secrets appear once", async (test) => {
  const { cookie } = await newOperator(test);
  const send = async (method: string, more: string, status: number, json?: unknown) => {
    const response = await test.send(path + more, { method, cookie, ...json !== undefined && { json } });
    assert.equal(response.status, status, `${method} ${more}`);
    return status === 204 ? null : await response.json();
  };
  const input = { uri: "https://mcp.example.com/", name: "Tools", scopes: ["tools:call"] };
  const { resource, secret } = await send("POST", "", 201, input);
  assert.deepEqual({ ...input, tokenFormat: "opaque", clients: "all" }, {
    uri: resource.uri,
    name: resource.name,
    scopes: resource.scopes,
    tokenFormat: resource.tokenFormat,
    clients: resource.clients,
  });
  const introspect = async (given: string, status: number) => {
    const response = await test.send("/oauth/introspect", {
      method: "POST",
      form: { token: "x" },
      headers: { Authorization: `Basic ${btoa(`${resource.id}:${given}`)}` },
    });
    assert.equal(response.status, status);
    await response.body?.cancel();
  };
  await introspect(secret, 200);
  // The same URI without its slash.
  const taken = await send("POST", "", 409, { ...input, uri: "https://MCP.example.com" });
  assert.equal(taken.error.code, "resource_taken");
  for (
    const [field, value] of Object.entries({
      uri: "mcp",
      scopes: ["openid"],
      clients: ["x"],
      tokenFormat: "x",
    })
  ) {
    const { error } = await send("POST", "", 422, { ...input, [field]: value });
    assert.match(error.details[0].path, new RegExp(`^${field}`));
  }
  const changed = await send("PATCH", `/${resource.id}`, 200, { name: "Toolbox" });
  assert.deepEqual(changed.resource, { ...resource, name: "Toolbox" });
  const { secret: next } = await send("POST", `/${resource.id}/rotate-secret`, 200, undefined);
  await introspect(secret, 401);
  await introspect(next, 200);
  const list = await send("GET", "", 200);
  assert.ok(!JSON.stringify(list).includes(next), "secrets are not listed");
  assert.equal(list.resources.length, 1);
  await send("DELETE", `/${resource.id}`, 204);
  await introspect(next, 401);
  await send("GET", `/${resource.id}`, 404);
});
