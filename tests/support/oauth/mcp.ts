// An MCP server that accepts access tokens, with the parts that @modelcontextprotocol/sdk has for it, and a client of the SDK.
import type { IncomingMessage, ServerResponse } from "node:http";
// deno-lint-ignore no-import-prefix
import { Client } from "npm:@modelcontextprotocol/sdk@1.32.2/client/index.js";
// deno-lint-ignore no-import-prefix
import * as auth from "npm:@modelcontextprotocol/sdk@1.32.2/client/auth.js";
// deno-lint-ignore no-import-prefix
import { StreamableHTTPClientTransport } from "npm:@modelcontextprotocol/sdk@1.32.2/client/streamableHttp.js";
// deno-lint-ignore no-import-prefix
import { InvalidTokenError } from "npm:@modelcontextprotocol/sdk@1.32.2/server/auth/errors.js";
// deno-lint-ignore no-import-prefix
import { requireBearerAuth } from "npm:@modelcontextprotocol/sdk@1.32.2/server/auth/middleware/bearerAuth.js";
// deno-lint-ignore no-import-prefix
import * as metadata from "npm:@modelcontextprotocol/sdk@1.32.2/server/auth/router.js";
// deno-lint-ignore no-import-prefix
import { createMcpExpressApp } from "npm:@modelcontextprotocol/sdk@1.32.2/server/express.js";
// deno-lint-ignore no-import-prefix
import { McpServer } from "npm:@modelcontextprotocol/sdk@1.32.2/server/mcp.js";
// deno-lint-ignore no-import-prefix
import { StreamableHTTPServerTransport } from "npm:@modelcontextprotocol/sdk@1.32.2/server/streamableHttp.js";
import type { CallExtra } from "../../../packages/client/src/mcp.ts";
import { basic } from "./issued.ts";

export const { UnauthorizedError } = auth;
export const nativeRedirect = "http://127.0.0.1/callback";

/** Serves a tool that says who calls it, while `act` runs. @param options `resource`: registered with the issuer for `url`. */
export async function withMcpServer(
  { url, issuer, resource }: { url: URL; issuer: string; resource: { id: string; secret: string } },
  act: () => Promise<void>,
): Promise<void> {
  const verifyAccessToken = async (token: string) => {
    const response = await fetch(`${issuer}/oauth/introspect`, {
      method: "POST",
      headers: basic(resource),
      body: new URLSearchParams({ token }),
    });
    const { active, client_id: clientId, scope, exp: expiresAt, aud, sub } = await response.json();
    if (active !== true) throw new InvalidTokenError("The token is not active.");
    return { token, clientId, scopes: scope.split(" "), expiresAt, resource: new URL(aud), extra: { sub } };
  };
  const oauthMetadata = await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json();
  const app = createMcpExpressApp();
  app.use(
    metadata.mcpAuthMetadataRouter({
      oauthMetadata,
      resourceServerUrl: url,
      scopesSupported: ["tools:call"],
    }),
  );
  const bearer = requireBearerAuth({
    verifier: { verifyAccessToken },
    requiredScopes: ["tools:call"],
    resourceMetadataUrl: metadata.getOAuthProtectedResourceMetadataUrl(url),
    expectedResource: url,
  });
  app.post(
    url.pathname,
    bearer,
    async (request: IncomingMessage & { body?: unknown }, response: ServerResponse) => {
      const server = new McpServer({ name: "tests", version: "1.0.0" });
      server.registerTool("whoami", {}, ({ authInfo }: CallExtra) => ({
        content: [{ type: "text" as const, text: String(authInfo?.extra?.["sub"]) }],
      }));
      const transport = new StreamableHTTPServerTransport({});
      await server.connect(transport);
      await transport.handleRequest(request, response, request.body);
    },
  );
  app.get(url.pathname, (_request: unknown, response: ServerResponse) => void response.writeHead(405).end());
  const server = app.listen(Number(url.port), "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  try {
    await act();
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Keeps what a client of the SDK stores, and where it last sent the browser. */
export class KeptAuthorization implements auth.OAuthClientProvider {
  readonly redirectUrl = nativeRedirect;
  readonly clientMetadata = { redirect_uris: [nativeRedirect] };
  readonly #clientId: string;
  kept: Awaited<ReturnType<auth.OAuthClientProvider["tokens"]>>;
  sentTo: URL | null = null;
  #verifier = "";

  constructor(clientId: string) {
    this.#clientId = clientId;
  }

  clientInformation = () => ({ client_id: this.#clientId });
  tokens = () => this.kept;
  saveTokens = (tokens: NonNullable<KeptAuthorization["kept"]>) => void (this.kept = tokens);
  redirectToAuthorization = (url: URL) => void (this.sentTo = url);
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier);
  codeVerifier = () => this.#verifier;
  /** After `invalid_grant`, the SDK forgets the tokens and starts over. */
  invalidateCredentials = () => void (this.kept = undefined);
}

/** Connects and calls the tool. @returns Its text. @throws {UnauthorizedError} After the browser was sent to sign in. */
export async function callWhoami(url: URL, authProvider: KeptAuthorization): Promise<string> {
  const client = new Client({ name: "tests", version: "1.0.0" });
  try {
    await client.connect(new StreamableHTTPClientTransport(url, { authProvider }));
    const { content } = await client.callTool({ name: "whoami" }) as { content: { text: string }[] };
    return content[0]?.text ?? "";
  } finally {
    await client.close();
  }
}

/** Exchanges the code with which the browser came back. */
export async function finish(url: URL, authProvider: KeptAuthorization, code: string): Promise<void> {
  await new StreamableHTTPClientTransport(url, { authProvider }).finishAuth(code);
}
