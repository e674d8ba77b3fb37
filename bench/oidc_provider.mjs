// The provider that bench/oauth.ts compares with: oidc-provider with its store in memory, one person, and a client for each algorithm of
// ID tokens. Its packages aren't the program's, so bench/oauth.ts installs them in a folder of its own: `node oidc_provider.mjs PORT`.
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import process from "node:process";
import { Provider } from "oidc-provider";

const [, , port] = process.argv;
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: ["RS256", "ES256"].map((algorithm) => ({
    client_id: algorithm,
    client_secret: "bench-secret",
    redirect_uris: ["https://app.example.com/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    id_token_signed_response_alg: algorithm,
  })),
  jwks: {
    keys: [["rsa", { modulusLength: 2048 }], ["ec", { namedCurve: "P-256" }]].map(([type, options]) => ({
      ...generateKeyPairSync(type, options).privateKey.export({ format: "jwk" }),
      use: "sig",
    })),
  },
  features: { devInteractions: { enabled: false } },
  findAccount: (_context, accountId) => ({
    accountId,
    claims: () => ({ sub: accountId, name: "Ada", email: "ada@example.com", email_verified: true }),
  }),
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  issueRefreshToken: () => true,
  async loadExistingGrant(context) {
    const { client, session } = context.oidc;
    const known = session.grantIdFor(client.clientId);
    if (known !== undefined) return await context.oidc.provider.Grant.find(known);
    const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
    grant.addOIDCScope("openid profile email");
    await grant.save();
    return grant;
  },
});
const handle = provider.callback();
createServer((request, response) =>
  request.url.startsWith("/interaction/")
    ? provider.interactionFinished(request, response, { login: { accountId: "ada" } })
    : handle(request, response)
).listen(Number(port), "127.0.0.1");
