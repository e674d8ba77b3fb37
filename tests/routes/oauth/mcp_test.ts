// The client and the server of @modelcontextprotocol/sdk, and the checks of @modelcontextprotocol/conformance.
import assert from "node:assert/strict";
import type { TestApp } from "../../support/app/app.ts";
import { withOwnAddress } from "../../support/app/real_app.ts";
import { freePort } from "../../support/database/sqld.ts";
import { newVisitor } from "../../support/identity_providers/visitor.ts";
import { newResource } from "../../support/oauth/issued.ts";
import {
  callWhoami,
  finish,
  KeptAuthorization,
  nativeRedirect,
  UnauthorizedError,
  withMcpServer,
} from "../../support/oauth/mcp.ts";
import { type Check, checkAuthorizationServer } from "../../support/oauth/mcp_conformance.ts";
import { passPages } from "../../support/oauth/pages.ts";
import { addClient, confirmed } from "../../support/oauth/scene.ts";
import { isMissing } from "../../support/runner/needs.ts";

const settings = { SECRETS_KEY: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=" };

/** An MCP server's address that is registered as a resource, a native client, and a person. */
async function scene(test: TestApp) {
  const url = new URL(`http://127.0.0.1:${freePort()}/mcp`);
  const { resource, secret } = await newResource(test, { uri: url.href });
  const client = await addClient(test, { isPublic: true, redirectUris: [nativeRedirect] });
  const person = await confirmed(test, await test.signUp());
  return { url, resource: { id: resource.id, secret }, client, person };
}

Deno.test("the SDK's client signs in from the challenge of an MCP server, refreshes, and is out after a sign-out", () =>
  withOwnAddress(async (test) => {
    const { url, resource, client, person } = await scene(test);
    await withMcpServer({ url, issuer: test.config.baseUrl.origin, resource }, async () => {
      const kept = new KeptAuthorization(client.id);
      await assert.rejects(callWhoami(url, kept), UnauthorizedError);
      assert.equal(kept.sentTo?.searchParams.get("resource"), url.href);
      const browser = newVisitor(test);
      const { answer, asked } = await passPages(browser, kept.sentTo ?? "", { test, email: person.email });
      assert.deepEqual(asked, ["/sign-in", "/authorize/decision"]);
      await finish(url, kept, answer?.searchParams.get("code") ?? "");
      assert.equal(kept.kept?.scope, "tools:call");
      assert.equal(await callWhoami(url, kept), person.userId);

      const before = kept.kept;
      test.advance(16 * 60_000);
      assert.equal(await callWhoami(url, kept), person.userId);
      assert.notEqual(kept.kept?.access_token, before?.access_token, "an expired token was refreshed");

      kept.sentTo = null;
      await browser.open("/sign-out", { form: {} });
      await assert.rejects(callWhoami(url, kept), UnauthorizedError);
      assert.ok(kept.sentTo, "the person has to sign in again");
    });
  }, settings));

Deno.test({
  name: "@modelcontextprotocol/conformance finds a conforming authorization server",
  ignore: isMissing("npm"),
  fn: () =>
    withOwnAddress(async (test) => {
      const { url, client, person } = await scene(test);
      const checks = await checkAuthorizationServer({
        args: [
          ...["--url", test.config.baseUrl.origin],
          ...["--client-id", client.id, "--resource", url.href, "--port", String(freePort())],
        ],
        async open(address) {
          const { answer } = await passPages(newVisitor(test), address, { test, email: person.email });
          return answer?.href ?? "";
        },
      });
      // A warning until client ID metadata documents are supported.
      const isExpected = ({ id, status }: Check) =>
        status === "SUCCESS" || id === "authorization-server-metadata-cimd" && status === "WARNING";
      assert.deepEqual(checks.filter((check) => !isExpected(check)), []);
      assert.deepEqual(checks.map(({ id }) => id).sort(), [
        "authorization-code-grant",
        "authorization-server-metadata",
        "authorization-server-metadata-cimd",
      ]);
    }, settings),
});
