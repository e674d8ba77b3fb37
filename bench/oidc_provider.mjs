// The provider that bench/oauth.ts compares with: oidc-provider with its store in memory, one person and one client. Its packages
// aren't the program's, so bench/oauth.ts installs them in a folder of its own: `node oidc_provider.mjs PORT`.
import { createServer } from "node:http";
import process from "node:process";
import { Provider } from "oidc-provider";

const [, , port] = process.argv;
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: "bench",
    client_secret: "bench-secret",
    redirect_uris: ["https://app.example.com/callback"],
    grant_types: ["authorization_code", "refresh_token"],
  }],
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
