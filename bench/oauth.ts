// Measures the OpenID provider as ratios within one run: authorization with a session and the token request against oidc-provider on Node.js, and introspection
// of a token against GET /api/auth/me. `deno run -A bench/oauth.ts`. BENCH_ROUNDS, BENCH_SECONDS and BENCH_ONLY as in main.ts.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { Agent, request as send } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { poll } from "../tests/support/runner/poll.ts";
import { freePort } from "../tests/support/database/sqld.ts";
import { runCommand } from "../tests/support/process/command.ts";
import { inScene, type Scene } from "../tests/support/process/scene.ts";
import { sendJson } from "../tests/support/process/journey.ts";
import { requireWrk, runLoad } from "./load.ts";
import { printLine, readSettings, runToEnd } from "./settings.ts";

const redirectUri = "https://app.example.com/callback";
const password = "nine green umbrellas";
const { rounds, seconds, only } = readSettings();
const agent = new Agent({ keepAlive: true });

const algorithms = ["RS256", "ES256"] as const;
type Client = Readonly<Record<"id" | "secret", string>>;

/** A provider with a signed-in person, and a client for each algorithm of ID tokens. */
interface Provider {
  readonly origin: string;
  readonly authorize: string;
  readonly token: string;
  readonly cookie: string;
  readonly clients: Readonly<Record<(typeof algorithms)[number], Client>>;
}

interface Sent {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends a request on a kept connection. */
function ask(url: string, headers: Record<string, string>, body?: string): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const sent = send(url, { agent, method: body === undefined ? "GET" : "POST", headers }, (response) => {
      const parts: string[] = [];
      response.setEncoding("utf8").on("data", (part: string) => parts.push(part)).on(
        "end",
        () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text: parts.join("") }),
      );
    });
    sent.on("error", reject).end(body);
  });
}

const basic = ({ id, secret }: Client) => `Basic ${btoa(`${id}:${secret}`)}`;
const formType = "application/x-www-form-urlencoded";

/** Gets a code with the session, and exchanges it. @returns The response of the token endpoint. */
async function signIn(
  { origin, authorize, token, cookie }: Provider,
  client: Client,
): Promise<{ access_token: string; id_token: string }> {
  const verifier = randomBytes(32).toString("base64url");
  const query = new URLSearchParams({
    response_type: "code",
    client_id: client.id,
    redirect_uri: redirectUri,
    scope: "openid profile email",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  });
  const found = await ask(`${origin}${authorize}?${query}`, { cookie, "sec-fetch-dest": "document" });
  const code = new URL(String(found.headers["location"] ?? "about:blank")).searchParams.get("code");
  assert.ok(code, `${found.status} ${found.headers["location"]} ${found.text.slice(0, 500)}`);
  const form = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
  const headers = { authorization: basic(client), "content-type": formType };
  const answer = await ask(origin + token, headers, new URLSearchParams(form).toString());
  assert.equal(answer.status, 200, answer.text);
  return JSON.parse(answer.text);
}

/** @returns Sign-ins a second. */
async function signInsPerSecond(
  provider: Provider,
  { client, atOnce }: { client: Client; atOnce: number },
): Promise<number> {
  const end = performance.now() + seconds * 1_000;
  let count = 0;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (; performance.now() < end; count++) await signIn(provider, client);
  }));
  return count / seconds;
}

async function startOwn(scene: Scene): Promise<Provider> {
  const { baseUrl: origin } = await scene.start();
  const email = "ada@example.com";
  const user = ["user", "create", email, "--name", "Ada", "--password-stdin"];
  const { status, stderr } = await runCommand({ ...scene.options, stdin: `${password}\n` }, ...user);
  assert.equal(status, 0, stderr);
  const addClient = async () => {
    const added = await scene.run("client", "add", "Bench", "--redirect-uri", redirectUri, "--no-consent");
    const [, id = ""] = /(cli_\w+)/.exec(added.stderr) ?? [];
    return { id, secret: added.stdout.trim() };
  };
  const clients = { RS256: await addClient(), ES256: await addClient() };
  const stored = new DatabaseSync(scene.path);
  stored.prepare("UPDATE oauth_clients SET id_token_algorithm = 'ES256' WHERE id = ?").run(clients.ES256.id);
  stored.close();
  const response = await sendJson(origin, "/api/auth/sign-in", { json: { email, password } });
  const [cookie = ""] = response.headers.getSetCookie().map((text) => text.split(";", 1)[0] ?? "");
  await response.body?.cancel();
  return { origin, authorize: "/oauth/authorize", token: "/oauth/token", cookie, clients };
}

/** Installs and starts oidc-provider, and signs its person in. */
async function startOther(folder: string): Promise<Provider & AsyncDisposable> {
  await Deno.copyFile(`${import.meta.dirname}/oidc_provider.mjs`, `${folder}/oidc_provider.mjs`);
  const npm = ["install", "--no-audit", "--no-fund", "--no-save", "oidc-provider@9"];
  const installed = await new Deno.Command("npm", { args: npm, cwd: folder }).output();
  assert.ok(installed.success, new TextDecoder().decode(installed.stderr));
  const port = freePort();
  const node = new Deno.Command("node", {
    args: ["oidc_provider.mjs", String(port)],
    cwd: folder,
    env: { NODE_ENV: "production" },
    stdout: "null",
    stderr: "null",
  }).spawn();
  const origin = `http://127.0.0.1:${port}`;
  const end = { [Symbol.asyncDispose]: async () => (node.kill(), void await node.status) };
  await poll(() => ask(`${origin}/jwks`, {}).then(() => true, () => false));
  const cookies = new Map<string, string>();
  const cookie = () => [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const query = new URLSearchParams({
    response_type: "code",
    client_id: "RS256",
    redirect_uri: redirectUri,
    scope: "openid profile email",
    code_challenge: "x".repeat(43),
    code_challenge_method: "S256",
  });
  let next = `${origin}/auth?${query}`;
  while (next.startsWith(origin)) {
    const { headers } = await ask(next, { cookie: cookie() });
    for (const text of [headers["set-cookie"] ?? []].flat()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      cookies.set(name, value);
    }
    next = new URL(String(headers["location"]), origin).href;
  }
  const clientOf = (id: string) => ({ id, secret: "bench-secret" });
  const clients = { RS256: clientOf("RS256"), ES256: clientOf("ES256") };
  return { origin, authorize: "/auth", token: "/token", cookie: cookie(), clients, ...end };
}

const median = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;

/** Prints the medians of two figures that are measured in turn, and of their ratio. */
async function compare(
  name: string,
  one: () => Promise<number>,
  other: () => Promise<number>,
): Promise<void> {
  if (!only.test(name)) return;
  const pairs: [number, number][] = [];
  for (let round = 0; round < rounds; round++) pairs.push([await one(), await other()]);
  const [mine, theirs] = [median(pairs.map(([a]) => a)), median(pairs.map(([, b]) => b))];
  const ratio = median(pairs.map(([a, b]) => a / b));
  printLine(
    `${name.padEnd(58)} ${mine.toFixed(0).padStart(6)} ${theirs.toFixed(0).padStart(6)} ${ratio.toFixed(2)}`,
  );
}

await runToEnd(async () => {
  await requireWrk();
  const env = { LOG_LEVEL: "warning", SECRETS_KEY: btoa("7".repeat(32)), HTTP_THREADS: "1" };
  await inScene({ env }, async (scene) => {
    const own = await startOwn(scene);
    const { access_token: token } = await signIn(own, own.clients.RS256);
    printLine(`${"a second".padEnd(58)}    one  other ratio`);
    const headers = { Authorization: basic(own.clients.RS256), "Content-Type": formType };
    const introspect = {
      method: "POST",
      url: `${own.origin}/oauth/introspect`,
      headers,
      body: `token=${token}`,
    } as const;
    assert.equal(JSON.parse((await ask(introspect.url, headers, introspect.body)).text).active, true);
    const me = { method: "GET", url: `${own.origin}/api/auth/me`, headers: { Cookie: own.cookie } } as const;
    for (const connections of [1, 8, 64]) {
      const load = (request: Parameters<typeof runLoad>[0]) => async () =>
        (await runLoad(request, { connections, seconds })).perSecond;
      await compare(
        `introspection : GET /api/auth/me, ${connections} connections`,
        load(introspect),
        load(me),
      );
    }
    if (!only.test("oidc-provider")) return;
    const folder = `${scene.folder}/node`;
    await Deno.mkdir(folder);
    await using other = await startOther(folder);
    for (const algorithm of algorithms) {
      for (const provider of [own, other]) {
        const { id_token: idToken } = await signIn(provider, provider.clients[algorithm]);
        const [header = ""] = idToken.split(".", 1);
        assert.equal(JSON.parse(Buffer.from(header, "base64url").toString()).alg, algorithm);
      }
      for (const atOnce of [1, 8]) {
        const signIns = (provider: Provider) => () =>
          signInsPerSecond(provider, { client: provider.clients[algorithm], atOnce });
        await compare(
          `authorize and token : oidc-provider, ${algorithm}, ${atOnce} in parallel`,
          signIns(own),
          signIns(other),
        );
      }
    }
  });
});
