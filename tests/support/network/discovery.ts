// A server with the discovery document and the keys of an OpenID provider, and the root of GitHub's API. It signs no one in.

export interface Discovery extends AsyncDisposable {
  readonly issuer: string;
  /** The content of the document. Changes take effect on the next request. */
  readonly metadata: Record<string, unknown>;
  keys: unknown;
  /** Replaces all responses, unless it is null. */
  response: (() => Response) | null;
  readonly paths: string[];
}

export function startDiscovery(): Discovery {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const { pathname } = new URL(request.url);
    discovery.paths.push(pathname);
    if (discovery.response !== null) return discovery.response();
    if (pathname === "/.well-known/openid-configuration") return Response.json(discovery.metadata);
    if (pathname === "/keys") return Response.json(discovery.keys);
    return new Response("{}", { status: pathname === "/api/v3/" ? 401 : 404 });
  });
  const issuer = `http://127.0.0.1:${server.addr.port}`;
  const discovery: Discovery = {
    issuer,
    metadata: {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ["code"],
      id_token_signing_alg_values_supported: ["RS256"],
      code_challenge_methods_supported: ["S256"],
    },
    keys: { keys: [{ kty: "RSA" }] },
    response: null,
    paths: [],
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  return discovery;
}
