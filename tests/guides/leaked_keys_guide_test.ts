// docs/leaked-keys.md: its commands run in order against a server, and its patterns and checksums are checked
// against real keys and near misses.
import assert from "node:assert/strict";
import { generateApiKey, isWellFormedApiKey } from "../../domain/keys/api_key.ts";
import { testPassword } from "../support/app/app.ts";
import { metered, type Scene } from "../support/client/meter_scene.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { readGuide, runLines } from "../support/runner/guides.ts";

const block = await readGuide("leaked-keys.md");
const grant = (await readGuide("operators.md"))("grant");
const record = { productSlug: "tiles", metric: "requests", quantity: 5 };

const name = "the guide stops a leaked key, finds everything it did, and undoes only that";
metered("docs/leaked-keys.md", { [name]: stopsLeakedKey });

async function stopsLeakedKey({ test, line, folder }: Scene): Promise<void> {
  const base = line.url;
  const lines = `curl --silent --cookie-jar cookies.txt "$GATEHOUSE/api/auth/sign-up" \\
      -H "Content-Type: application/json" \\
      -d '{"name": "Ada", "email": "ada@example.com", "password": "${testPassword}"}'`;
  await runLines(lines, { cwd: folder, env: { GATEHOUSE: base } });
  const jar = await Deno.readTextFile(`${folder}/cookies.txt`);
  const cookie = `access_token=${jar.trim().split(/\s/).at(-1)}`;
  const make = async (name: string) =>
    await (await test.send("/api/portal/api-keys", { cookie, json: { name } })).json();
  const leaked = await make("Production");
  const other = await make("Other");
  const { fullToken: TOKEN } = await newOperatorToken(test, ["keys:write"]);
  for (const { apiKey } of [leaked, other]) {
    await runLines(grant, { cwd: folder, env: { GATEHOUSE: base, TOKEN, KEY_ID: apiKey.id } });
  }
  const send = async (apiKey: string, json: unknown, path = "/api/v1/usage") => {
    const response = await test.send(path, { apiKey, json });
    const body = await response.json();
    return { status: response.status, body };
  };
  // More than one page of records, and a record of another key that the leaked one voided.
  const records = Array.from({ length: 120 }, () => record);
  assert.equal((await send(leaked.fullKey, { records }, "/api/v1/usage/batch")).status, 201);
  await send(other.fullKey, { ...record, quantity: 1 });
  const { body: { usageRecord: victim } } = await send(other.fullKey, record);
  await send(leaked.fullKey, { reason: "Ha!" }, `/api/v1/usage/records/${victim.id}/void`);

  const names = ["find", "rotate", "records", "sums", "audit", "voided", "void", "revoke"];
  // The key is rotated first, so that it keeps working for an hour, and revoked within that hour.
  const script = names.map((name) =>
    `${block(name)}\necho; echo "--- $NEW_KEY"\n` + (name === "rotate" ? 'echo "$NEW_KEY" > new_key\n' : "")
  ).join("\n");
  const env = { GATEHOUSE: base, LEAKED: leaked.fullKey, VOID_KEY: other.fullKey };
  const output = await runLines(script, { cwd: folder, env });
  const [find, , counted, sums, audit, voided, voids, revoked] = output.split(/^--- .*\n/m);
  assert.equal(find?.trim(), leaked.apiKey.id);
  assert.equal(counted?.trim(), "120");
  assert.deepEqual(
    JSON.parse(sums ?? "").data.map((row: { apiKey: string; sum: number }) => [row.apiKey, row.sum])
      .sort(),
    [[leaked.apiKey.id, 600], [other.apiKey.id, 1]].sort(),
  );
  const actions = JSON.parse(audit ?? "").events.map((event: { action: string }) => event.action);
  assert.deepEqual(actions, [
    "api_key.rotated",
    "api_key.permissions_changed",
    "api_key.permissions_changed",
    "api_key.created",
    "api_key.created",
  ]);
  assert.match(voided?.trim() ?? "", new RegExp(`^"id":"${victim.id}".*Ha!"$`));
  const voidedLines = (voids ?? "").trim().split("\n");
  assert.equal(voidedLines.length, 120);
  assert.deepEqual(voidedLines.filter((line) => !/^200 use_/.test(line)), []);
  assert.equal(JSON.parse(revoked ?? "").apiKey.status, "revoked");

  const newKey = (await Deno.readTextFile(`${folder}/new_key`)).trim();
  const left = await (await test.send("/api/v1/usage?window=month", { apiKey: newKey })).json();
  assert.deepEqual(left.data.map(({ sum }: { sum: number }) => sum), [1]);
  assert.equal((await send(leaked.fullKey, record)).status, 401);
}

/** Contexts in which a pattern must find a key. */
const places = [
  (key: string) => key,
  (key: string) => `KEY=${key}\n`,
  (key: string) => `const key = "${key}";`,
  (key: string) => `{"text":"one\\n${key}\\ntwo"}`,
  (key: string) => `https://example.com/?key%3D${key}%26x`,
  (key: string) => `Authorization: Bearer ${key}`,
  (key: string) => `first line\n${key}\nlast line`,
  (key: string) => `(${key})_${"x".repeat(3)}`,
];

const keys = Array.from(
  { length: 200 },
  (_, index) => generateApiKey({ environment: index % 2 === 0 ? "live" : "test" }).fullKey,
);
const one = keys[0] ?? "";
const nearMisses = [
  one.slice(0, -1),
  `${one}a`,
  `${one}${one.slice(-38)}`,
  one.replace("service_live_", "service_demo_"),
  one.replace("service_live_", "acme_live_"),
  one.replace("service_live_", "service_live"),
  one.replace("service_live_", "SERVICE_LIVE_"),
  one.replace("service_live_", "microservice_live_"),
  `${one.slice(0, 20)}-${one.slice(21)}`,
  `${one.slice(0, 20)} ${one.slice(20)}`,
  generateApiKey().keyPrefix,
];

/** Shannon's entropy in bits per character, as both scanners compute it. */
function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()].reduce(
    (sum, count) => sum - count / text.length * Math.log2(count / text.length),
    0,
  );
}

function line(text: string, form: RegExp): string {
  const found = form.exec(text)?.[1];
  assert.ok(found !== undefined, `${form} in ${text}`);
  return found;
}

interface Pattern {
  /** @returns The secrets that the pattern finds in a text. */
  readonly find: (text: string) => string[];
}

/** Runs a Go pattern as JavaScript. What the patterns use means the same in both: `$` without flags is the end of the text. */
function goPattern(
  expression: string,
  options: { keywords: readonly string[]; entropyMin: number },
): Pattern {
  return {
    find: (text) => {
      if (!options.keywords.some((keyword) => text.toLowerCase().includes(keyword))) return [];
      return [...text.matchAll(new RegExp(expression, "g"))].map(([, secret = ""]) => secret)
        .filter((secret) => entropy(secret) > options.entropyMin);
    },
  };
}

/** Returns a block of the guide for a service with another `KEY_PREFIX`. */
function blockFor(name: string, prefix: string): string {
  return block(name).replaceAll("service_", `${prefix}_`);
}

function gitleaks(prefix: string): Pattern {
  const text = blockFor("gitleaks", prefix);
  return goPattern(line(text, /^regex = '''(.*)'''$/m), {
    keywords: line(text, /^keywords = \["(.*)"\]$/m).split('", "'),
    entropyMin: Number(line(text, /^entropy = (.*)$/m)),
  });
}

function trufflehog(prefix: string): Pattern {
  const text = blockFor("trufflehog", prefix);
  return goPattern(line(text, /^ +key: '(.*)'$/m), {
    keywords: line(text, /^ +keywords:\n((?: +- .*\n)+)/m).trim().split(/\n? +- /).map((word) =>
      word.replace("- ", "")
    ),
    entropyMin: Number(line(text, /^ +entropy: (.*)$/m)),
  });
}

function gitHub(prefix: string): Pattern {
  const text = blockFor("GitHub", prefix);
  const field = (name: string) =>
    line(text, new RegExp(`^${name}: +(.*)$`, "m")).replaceAll("\\A", "^").replaceAll("\\z", "$");
  const expression = `(?:${field("Before secret")})(${field("Secret format")})(?=${field("After secret")})`;
  const not = new RegExp(field("Secret must not match"));
  return {
    find: (text) =>
      [...text.matchAll(new RegExp(expression, "g"))].map(([, secret = ""]) => secret)
        .filter((secret) => !not.test(secret)),
  };
}

for (const [name, make] of Object.entries({ gitleaks, trufflehog, gitHub })) {
  Deno.test(`the guide's pattern for ${name} finds every key in every context, and no near miss`, () => {
    const { find } = make("service");
    for (const [index, place] of places.entries()) {
      for (const key of keys) assert.deepEqual(find(place(key)), [key], `place ${index}`);
      for (const miss of nearMisses) assert.deepEqual(find(place(miss)), [], `place ${index}: ${miss}`);
    }
    assert.deepEqual(find(keys.slice(0, 3).join("\n")), keys.slice(0, 3));
    for (const filler of ["x", "X", "0"]) assert.deepEqual(find(`service_live_${filler.repeat(38)}`), []);
    const ofAcme = keys.map((key) => key.replace("service_", "acme_"));
    assert.deepEqual(make("acme").find([...ofAcme, ...keys, ...nearMisses.slice(0, 4)].join("\n")), ofAcme);
  });
}

Deno.test("the guide's configuration for gitleaks is valid TOML", async () => {
  const script = "import json, sys, tomllib; print(json.dumps(tomllib.load(sys.stdin.buffer)))";
  const output = await runLines(`python3 -c '${script}'`, { cwd: ".", stdin: block("gitleaks") });
  const { rules: [rule] } = JSON.parse(output);
  assert.equal(rule.id, "gatehouse-api-key");
  assert.equal(rule.regex, line(block("gitleaks"), /^regex = '''(.*)'''$/m));
});

Deno.test("the guide's checksum recognizes real keys and rejects mistyped ones, in Python and in TypeScript", async () => {
  const mistyped = keys.slice(0, 50).map((key, index) => {
    const at = "service_live_".length + index % 38;
    return `${key.slice(0, at)}${key[at] === "7" ? "8" : "7"}${key.slice(at + 1)}`;
  });
  // Two characters are swapped.
  const swapped = keys.slice(50, 100).filter((key) => key[20] !== key[21]).map((key) =>
    key.slice(0, 20) + key[21] + key[20] + key.slice(22)
  );
  const wrong = [...mistyped, ...swapped, ...nearMisses, ""];
  const otherPrefixes = ["microservice_live_", "acme_live_"].map((tag) => one.replace("service_live_", tag));
  for (const text of wrong) assert.equal(isWellFormedApiKey(text), otherPrefixes.includes(text));
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-checksum-" });
  try {
    const stdin = [...keys, ...wrong].join("\n") + "\n";
    const expected = [...keys.map(() => "real"), ...wrong.map(() => "not a key")];
    await Deno.writeTextFile(`${folder}/checksum.py`, block("checksum.py"));
    const python = await runLines("python3 checksum.py", { cwd: folder, stdin });
    assert.deepEqual(python.trim().split("\n"), expected);
    await Deno.writeTextFile(`${folder}/checksum.ts`, block("checksum.ts"));
    const { isGatehouseKey } = await import(`file://${folder}/checksum.ts`);
    assert.deepEqual(
      [...keys, ...wrong].map((text) => isGatehouseKey(text) ? "real" : "not a key"),
      expected,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
