// Other ways to verify an API key, for comparison: better-auth's plugin, and a hand-written lookup of the key's hash. Both
// with Hono and a SQLite file with one key. Its packages are not the program's, so they aren't in deno.lock:
// `deno run --no-lock bench/verifiers.ts PORT FOLDER`.
import { createHash, randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { Hono } from "hono";

const [port, folder] = Deno.args;

function openFile(name: string): DatabaseSync {
  const database = new DatabaseSync(`${folder}/${name}.db`);
  // The fastest that survives a crash of the program.
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  return database;
}

/** @returns better-auth with a user's key that has no rate limit. */
async function createBetterAuth() {
  const load = (specifier: string) => import(`npm:${specifier}`);
  const { betterAuth } = await load("better-auth@1.7.25");
  const { getMigrations } = await load("better-auth@1.7.25/db/migration");
  const { apiKey } = await load("@better-auth/api-key@1.7.5");
  const auth = betterAuth({
    database: openFile("better-auth"),
    secret: randomBytes(32).toString("hex"),
    baseURL: `http://127.0.0.1:${port}`,
    emailAndPassword: { enabled: true },
    plugins: [apiKey()],
    telemetry: { enabled: false },
  });
  await (await getMigrations(auth.options)).runMigrations();
  const { user } = await auth.api.signUpEmail({
    body: { name: "Ada Lovelace", email: "ada@example.com", password: randomBytes(8).toString("hex") },
  });
  const { key } = await auth.api.createApiKey({
    body: { name: "Key", userId: user.id, rateLimitEnabled: false },
  });
  return { key, verify: (key: string) => auth.api.verifyApiKey({ body: { key } }) };
}

/** @returns A table of keys with one key, as an application would write it. */
function createByHand() {
  const database = openFile("by-hand");
  database.exec(`CREATE TABLE organizations (id TEXT PRIMARY KEY, name TEXT, suspended_at INTEGER);
    CREATE TABLE api_keys (key_hash TEXT PRIMARY KEY, id TEXT, name TEXT, permissions TEXT, organization_id TEXT,
      expires_at INTEGER, revoked_at INTEGER)`);
  const key = randomBytes(32).toString("hex");
  const hash = (key: string) => createHash("sha256").update(key).digest("hex");
  database.exec("INSERT INTO organizations VALUES ('org_1', 'Engines', NULL)");
  database.prepare(`INSERT INTO api_keys VALUES (?, 'key_1', 'Key', '["usage:write"]', 'org_1', NULL, NULL)`)
    .run(hash(key));
  const find = database.prepare(
    `SELECT k.id, k.name, k.permissions, k.expires_at, k.revoked_at, o.id AS organization_id,
    o.name AS organization, o.suspended_at FROM api_keys k JOIN organizations o ON o.id = k.organization_id
    WHERE k.key_hash = ?`,
  );
  return {
    key,
    verify(key: string) {
      const found = find.get(hash(key));
      const isExpired = found !== undefined && Number(found["expires_at"] ?? Infinity) <= Date.now();
      const valid = found !== undefined && !isExpired && found["revoked_at"] === null &&
        found["suspended_at"] === null;
      return { valid, apiKey: found ?? null };
    },
  };
}

const app = new Hono();
const verifiers = { "/better-auth": await createBetterAuth(), "/by-hand": createByHand() };
for (const [path, { key, verify }] of Object.entries(verifiers)) {
  app.get(path, (c) => c.json({ key }));
  app.post(path, async (c) => c.json(await verify((await c.req.json()).key)));
}
app.get("*", (c) => c.body(null));
Deno.serve({ hostname: "127.0.0.1", port: Number(port), onListen: () => {} }, app.fetch);
