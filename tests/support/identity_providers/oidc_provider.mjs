// The OpenID provider `oidc-provider`, run by Node.js, with its own sign-in form: any password opens the account of that name.
// The arguments are the package's name and the JSON of its settings. It writes “ready”. Each line of input makes it rotate its keys.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import process from "node:process";
import { createInterface } from "node:readline";

const [, , packageName, settings] = process.argv;
const { Provider } = await import(packageName);
const { host, port, clientId, clientSecret, redirectUris } = JSON.parse(settings);
const issuer = `http://${host}:${port}`;
const cookieKeys = [randomUUID()];

function newKey() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), alg: "RS256", use: "sig" };
}

/** Keeps sessions, codes and grants for all providers of the process. Its own would forget them when the keys change. */
class Adapter {
  static #models = new Map();
  #items;

  constructor(name) {
    this.#items = Adapter.#models.get(name) ?? new Map();
    Adapter.#models.set(name, this.#items);
  }

  upsert = async (id, payload) => await this.#items.set(id, payload);
  find = async (id) => await this.#items.get(id);
  findByUid = async (uid) => await [...this.#items.values()].find((payload) => payload.uid === uid);
  destroy = async (id) => await this.#items.delete(id);

  async consume(id) {
    await this.upsert(id, { ...this.#items.get(id), consumed: Math.floor(Date.now() / 1000) });
  }

  async revokeByGrantId(grantId) {
    for (const [id, payload] of this.#items) if (payload.grantId === grantId) await this.destroy(id);
  }
}

/** @param keys The first one signs. */
function newProvider(keys) {
  return new Provider(issuer, {
    adapter: Adapter,
    clients: [{
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: redirectUris,
    }],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        email: `${id}@example.com`,
        email_verified: true,
        name: `${id} of the peer`,
      }),
    }),
    jwks: { keys },
    cookies: { keys: cookieKeys },
  });
}

let keys = [newKey()];
let handle = newProvider(keys).callback();
createServer((request, response) => handle(request, response))
  .listen(port, "127.0.0.1", () => process.stdout.write("ready\n"));

const lines = createInterface({ input: process.stdin });
lines.on("line", () => {
  // The old key stays published, as long as tokens that it signed may be around.
  keys = [newKey(), ...keys];
  handle = newProvider(keys).callback();
  process.stdout.write("rotated\n");
});
lines.on("close", () => process.exit(0));
