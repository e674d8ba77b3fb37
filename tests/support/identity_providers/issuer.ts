// An OpenID provider on a free loopback port that signs a chosen person in without asking. It is honest until a test makes it lie.
import { Buffer } from "node:buffer";
import {
  createHash,
  createHmac,
  createSign,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  randomUUID,
} from "node:crypto";

/** Who is signed in at the provider, as claims of the ID token: `sub`, `email`, `email_verified`, `name` and others. */
export type IssuerPerson = Readonly<Record<string, unknown> & { sub: string }>;

/** Where a provider receives requests. */
export type IssuerEndpoint = "discovery" | "authorize" | "token" | "keys" | "userinfo";

/** How the provider deviates from the protocol. */
export interface Lies {
  /** Replaces claims of the ID token. Undefined removes one. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Replaces fields of the ID token's header. */
  readonly header?: Readonly<Record<string, unknown>>;
  /** Signs with nothing, with the public key as an HMAC secret, with a key that isn't published, or with other bytes. */
  readonly signature?: "none" | "publicKeyAsSecret" | "otherKey" | "broken";
  /** Replaces fields of the discovery document, the token response and the userinfo response. Undefined removes one. */
  readonly discovery?: Readonly<Record<string, unknown>>;
  readonly tokens?: Readonly<Record<string, unknown>>;
  readonly userinfo?: Readonly<Record<string, unknown>>;
  /** Replaces parameters of the redirect back. Undefined removes one. */
  readonly callback?: Readonly<Record<string, string | undefined>>;
  /** Takes over an endpoint. */
  readonly respond?: Readonly<
    Partial<Record<IssuerEndpoint, (honest: () => Promise<Response>, request: Request) => Answer>>
  >;
}

type Answer = Response | Promise<Response>;

/** A running provider. */
export interface TestIssuer extends AsyncDisposable {
  /** Its issuer identifier: the origin, and the path that it was started with. */
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Who signs in next. */
  person: IssuerPerson;
  lies: Lies;
  /** The requests so far, such as `GET /jwks`. */
  readonly requests: string[];
  /** The parameters of the latest request to the authorization endpoint. */
  asked: URLSearchParams;
  /** Of all keys, instead of one for each. Null: the provider doesn't use any. */
  kid?: string | null;
  /** Replaces the signing key. @param options `keepsOld`: still publishes the one before. */
  rotateKey(options?: { keepsOld?: boolean }): void;
  stop(): Promise<void>;
}

interface SigningKey {
  readonly kid: string | undefined;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

interface Grant {
  readonly person: IssuerPerson;
  readonly asked: URLSearchParams;
}

/** Generating RSA keys takes longer than most tests. */
const keys: SigningKey[] = [];

function signingKey(index: number): SigningKey {
  return keys[index] ??= { kid: randomUUID(), ...generateKeyPairSync("rsa", { modulusLength: 2048 }) };
}

/** Not one of {@linkcode signingKey}'s first. */
const unpublishedKey = 3;

/** Starts a provider. @param options `path`: of the issuer identifier, such as `/tenant`. */
export function startIssuer(
  { person = { sub: "ada" }, path = "" }: { person?: IssuerPerson; path?: string } = {},
): TestIssuer {
  const stop = new AbortController();
  const options = { port: 0, hostname: "127.0.0.1", signal: stop.signal, onListen() {} };
  const server = Deno.serve(options, (request): Answer => {
    const endpoint = endpointOf(new URL(request.url).pathname.slice(path.length));
    issuer.requests.push(`${request.method} ${new URL(request.url).pathname}`);
    if (endpoint === null) return new Response(null, { status: 404 });
    const honest = () => respondTo(endpoint, request);
    return issuer.lies.respond?.[endpoint]?.(honest, request) ?? honest();
  });
  const grants = new Map<string, Grant>();
  const accessTokens = new Map<string, IssuerPerson>();
  let published = [0];
  let [current, rotations] = [0, 0];

  const issuer: TestIssuer = {
    url: `http://127.0.0.1:${server.addr.port}${path}`,
    clientId: "gatehouse",
    clientSecret: `secret-${randomUUID()}`,
    person,
    lies: {},
    requests: [],
    asked: new URLSearchParams(),
    rotateKey({ keepsOld = true } = {}) {
      const old = current;
      current = ++rotations % unpublishedKey;
      published = keepsOld ? [old, current] : [current];
    },
    async stop() {
      // A shutdown would wait for requests that a test never answers.
      stop.abort();
      await server.finished;
    },
    [Symbol.asyncDispose]: () => issuer.stop(),
  };

  const named = ({ kid, ...key }: SigningKey) => ({
    ...key,
    kid: issuer.kid === undefined ? kid : issuer.kid ?? undefined,
  });

  async function respondTo(endpoint: IssuerEndpoint, request: Request): Promise<Response> {
    switch (endpoint) {
      case "discovery":
        return Response.json({ ...discoveryOf(issuer.url), ...issuer.lies.discovery });
      case "keys":
        return Response.json({ keys: published.map((index) => jwkOf(named(signingKey(index)))) });
      case "authorize":
        return authorize(new URL(request.url).searchParams);
      case "token":
        return token(new URLSearchParams(await request.text()), request.headers.get("authorization"));
      case "userinfo": {
        const known = accessTokens.get(request.headers.get("authorization")?.replace(/^Bearer /i, "") ?? "");
        if (known === undefined) return new Response(null, { status: 401 });
        return Response.json({ ...known, ...issuer.lies.userinfo });
      }
    }
  }

  function authorize(asked: URLSearchParams): Response {
    issuer.asked = asked;
    const isValid = asked.get("response_type") === "code" && asked.get("client_id") === issuer.clientId &&
      asked.get("code_challenge_method") === "S256" && asked.has("code_challenge") &&
      (asked.get("scope") ?? "").split(" ").includes("openid");
    if (!isValid) return new Response(`invalid request: ${asked}`, { status: 400 });
    const code = randomBytes(16).toString("hex");
    grants.set(code, { person: issuer.person, asked });
    const back = new URL(asked.get("redirect_uri") ?? "");
    const answer = { code, state: asked.get("state") ?? "", iss: issuer.url, ...issuer.lies.callback };
    for (const [name, value] of Object.entries(answer)) {
      if (value !== undefined) back.searchParams.set(name, value);
    }
    return new Response(null, { status: 302, headers: { location: back.href } });
  }

  function token(form: URLSearchParams, authorization: string | null): Response {
    if (!isClient(issuer, form, authorization)) {
      return Response.json({ error: "invalid_client" }, { status: 401 });
    }
    const code = form.get("code") ?? "";
    const grant = grants.get(code);
    grants.delete(code);
    const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    const isGranted = grant !== undefined && grant.asked.get("code_challenge") === challenge &&
      grant.asked.get("redirect_uri") === form.get("redirect_uri");
    if (!isGranted) return Response.json({ error: "invalid_grant" }, { status: 400 });
    const accessToken = randomBytes(16).toString("hex");
    accessTokens.set(accessToken, grant.person);
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: issuer.url,
      aud: issuer.clientId,
      iat: now,
      exp: now + 300,
      auth_time: now,
      nonce: grant.asked.get("nonce") ?? undefined,
      ...grant.person,
      ...issuer.lies.claims,
    };
    return Response.json({
      access_token: accessToken,
      token_type: "Bearer",
      expires_in: 300,
      scope: grant.asked.get("scope"),
      id_token: idToken(claims, { key: named(signingKey(current)), lies: issuer.lies }),
      ...issuer.lies.tokens,
    });
  }

  return issuer;
}

/** Runs a test with a provider. @param options As {@linkcode startIssuer} takes them. */
export async function withIssuer(
  options: Parameters<typeof startIssuer>[0],
  run: (issuer: TestIssuer) => Promise<void>,
): Promise<void> {
  await using issuer = startIssuer(options);
  await run(issuer);
}

/** Returns a response of an endpoint that never ends. */
export function never(): Promise<Response> {
  return new Promise(() => {});
}

/** Pads an honest response to more than 64 KB. */
export async function giant(honest: () => Promise<Response>): Promise<Response> {
  return Response.json({ ...await (await honest()).json(), padding: "x".repeat(64 * 1024) });
}

function endpointOf(path: string): IssuerEndpoint | null {
  const endpoints: Readonly<Record<string, IssuerEndpoint>> = {
    "/.well-known/openid-configuration": "discovery",
    "/authorize": "authorize",
    "/token": "token",
    "/jwks": "keys",
    "/userinfo": "userinfo",
  };
  return endpoints[path] ?? null;
}

function discoveryOf(url: string) {
  return {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    jwks_uri: `${url}/jwks`,
    userinfo_endpoint: `${url}/userinfo`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
    code_challenge_methods_supported: ["S256"],
    scopes_supported: ["openid", "email", "profile"],
    authorization_response_iss_parameter_supported: true,
  };
}

function jwkOf({ kid, publicKey }: SigningKey) {
  return { ...publicKey.export({ format: "jwk" }), kid, use: "sig", alg: "RS256" };
}

function isClient(
  { clientId, clientSecret }: Pick<TestIssuer, "clientId" | "clientSecret">,
  form: URLSearchParams,
  authorization: string | null,
): boolean {
  if (authorization === null) {
    return form.get("client_id") === clientId && form.get("client_secret") === clientSecret;
  }
  const [id, secret] = Buffer.from(authorization.replace(/^Basic /i, ""), "base64").toString().split(":")
    .map((part) => new URLSearchParams(`_=${part}`).get("_"));
  return id === clientId && secret === clientSecret;
}

function idToken(claims: object, { key, lies }: { key: SigningKey; lies: Lies }): string {
  const { signature } = lies;
  const alg = signature === "none" ? "none" : signature === "publicKeyAsSecret" ? "HS256" : "RS256";
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg, kid: key.kid, typ: "JWT", ...lies.header })}.${part(claims)}`;
  return `${signed}.${signatureOf(signed, { key, lies })}`;
}

function signatureOf(signed: string, { key, lies }: { key: SigningKey; lies: Lies }): string {
  if (lies.signature === "none") return "";
  if (lies.signature === "publicKeyAsSecret") {
    const pem = key.publicKey.export({ type: "spki", format: "pem" });
    return createHmac("sha256", pem).update(signed).digest("base64url");
  }
  const { privateKey } = lies.signature === "otherKey" ? signingKey(unpublishedKey) : key;
  const text = lies.signature === "broken" ? `${signed}.` : signed;
  return createSign("sha256").update(text).sign(privateKey, "base64url");
}
