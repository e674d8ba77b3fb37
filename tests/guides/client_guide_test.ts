// docs/client.md and the part of docs/metering.md for TypeScript: the package is built and installed, and its examples run against
// a real Gatehouse.
import assert from "node:assert/strict";
import { cookieOf, testPassword } from "../support/app/app.ts";
import { npm, packClient } from "../support/client/package.ts";
import {
  installGatehouse,
  readExamples,
  readGuide,
  runLines,
  startCommand,
} from "../support/runner/guides.ts";
import { sendJson } from "../support/process/journey.ts";
import { poll } from "../support/runner/poll.ts";
import { isReady, killProgram, type Program, startProgram } from "../support/process/program.ts";
import { freePort } from "../support/database/sqld.ts";

const guide = await readGuide("client.md");
const metering = await readGuide("metering.md");
const applications = await readExamples("metering");
const frameworks = "hono@4.13.19 @hono/node-server@2.1.8 express@5.3.0";
const parallel = { sanitizeOps: false, sanitizeResources: false, sanitizeExit: false };

/** A customer with a key, and the folder of a product with the client installed. */
interface Scene {
  readonly program: Program;
  readonly folder: string;
  readonly cookie: string;
  readonly key: string;
  readonly operatorToken: string;
}

/** Runs with an example as a server, at the URL that it is given. */
async function withServer(
  scene: Scene,
  { file, text, command = `node ${file}` }: { file: string; text: string; command?: string },
  use: (url: string) => Promise<void>,
): Promise<void> {
  const port = freePort();
  const { folder, program, operatorToken } = scene;
  await Deno.writeTextFile(
    `${folder}/${file}`,
    onThisMachine(text, program).replaceAll("3000", String(port)),
  );
  const server = startCommand(command, {
    cwd: folder,
    env: { GATEHOUSE_OPERATOR_TOKEN: operatorToken, NO_COLOR: "1" },
  });
  const url = `http://127.0.0.1:${port}`;
  try {
    await poll(async () => {
      const response = await fetch(url, { redirect: "manual" }).catch(() => null);
      await response?.body?.cancel();
      return response !== null;
    });
    await use(url);
  } catch (error) {
    throw new Error(`${file}: ${server.output()}`, { cause: error });
  } finally {
    await server.stop();
  }
}

const onThisMachine = (text: string, { baseUrl }: Program): string =>
  text.replaceAll("https://auth.example.com", baseUrl);

async function ask(url: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(url, { headers, redirect: "manual" });
  return `${response.status} ${await response.text()}`;
}

async function sumsOf({ program, key }: Scene, product: string): Promise<Record<string, [number, number]>> {
  const path = `/api/v1/usage?window=month&groupBy=metric&productSlug=${product}`;
  const { data } = await (await sendJson(program.baseUrl, path, { apiKey: key })).json() as {
    data: { metric: string; sum: number; count: number }[];
  };
  return Object.fromEntries(data.map(({ metric, sum, count }) => [metric, [sum, count]]));
}

async function prepare(program: Program, folder: string): Promise<Scene> {
  const json = {
    name: "Ada",
    email: "ada@example.com",
    password: testPassword,
    organizationName: "Northwind",
  };
  const signUp = await sendJson(program.baseUrl, "/api/auth/sign-up", { json });
  const [cookie, { organizationId }] = [cookieOf(signUp), await signUp.json()];
  const permissions = ["usage:write", "usage:read", "tiles:read"];
  const created = await sendJson(program.baseUrl, "/api/portal/api-keys", {
    cookie,
    json: { name: "Tiles", permissions },
  });
  const { fullKey: key } = await created.json();
  const PATH = `${await installGatehouse(folder)}:${Deno.env.get("PATH")}`;
  const newToken = async (scopes: string) =>
    (await runLines(`gatehouse token create Product --scope ${scopes}`, { cwd: folder, env: { PATH } }))
      .trim();
  const operatorToken = await newToken("keys:verify,usage:write");
  const limits = ["hono", "express"].map((metric) => ({ metric, per: "total", quantity: 1, mode: "hard" }));
  const limited = await sendJson(program.baseUrl, `/api/operator/organizations/${organizationId}`, {
    method: "PATCH",
    apiKey: await newToken("organizations:write"),
    json: { overrides: { limits } },
  });
  assert.equal(limited.status, 200, await limited.text());
  await Deno.writeTextFile(`${folder}/package.json`, "{}");
  const { pathname } = new URL(`file://${await packClient(folder)}`);
  assert.equal(
    guide("install").trim(),
    `npm install https://auth.example.com/download/${pathname.split("/").at(-1)}`,
  );
  await npm(`install ${pathname} ${frameworks}`, folder);
  return { program, folder, cookie, key, operatorToken };
}

async function findsOutWhoIsSignedIn(scene: Scene): Promise<void> {
  await withServer(scene, { file: "me.mjs", text: guide("me.mjs") }, async (url) => {
    assert.equal(await ask(url, { cookie: scene.cookie }), "200 Hello Ada, OWNER.\n");
    assert.equal(await ask(url), "200 Sign in first.\n");
  });
  const { folder, program } = scene;
  const here = { file: "fetch.mjs", text: guide("fetch.mjs") };
  const command =
    `'${Deno.execPath()}' run --no-lock --allow-net --allow-env --allow-read=${folder} fetch.mjs`;
  await withServer(scene, { ...here, command }, async (url) => {
    assert.equal(await ask(url, { cookie: scene.cookie }), "200 Hello Ada.\n");
    const page = await fetch(url, { headers: { accept: "text/html" }, redirect: "manual" });
    const query = new URLSearchParams({ return_to: `${url}/` });
    assert.equal(page.headers.get("location"), `${program.baseUrl}/sign-in?${query}`);
    await page.body?.cancel();
  });
}

/** A framework's example checks sessions and keys, meters what it served, and serves nothing beyond a hard limit. */
async function protectsRoutes(scene: Scene, framework: string, example: string): Promise<void> {
  const file = `${framework}.mjs`;
  // The examples run at the same time, so each has its own metric and spool.
  const text = example.replaceAll('"requests"', `"${framework}"`).replaceAll("usage.spool", framework);
  await withServer(scene, { file, text }, async (url) => {
    assert.equal(await ask(`${url}/board`, { cookie: scene.cookie }), "200 Hello Ada.\n");
    assert.match(await ask(`${url}/board`), /^401 .*"unauthenticated"/);
    const authorization = `Bearer ${scene.key}`;
    assert.equal(await ask(`${url}/tiles/7`, { authorization }), "200 Tile 7 for Northwind.\n");
    assert.match(await ask(`${url}/tiles/7`), /^401 .*"invalid_api_key"/);
    await poll(async () => (await sumsOf(scene, "tiles"))[framework]?.[1] === 1);
    assert.match(await ask(`${url}/tiles/7`, { authorization }), /^429 .*"limit_exceeded"/);
  });
}

async function recordsAndVerifies(scene: Scene): Promise<void> {
  const { folder, program, key, operatorToken } = scene;
  const run = async (file: string, text: string) => {
    const here = onThisMachine(text, program).replaceAll('"tiles"', '"scripts"').replace(
      "service_live_…",
      key,
    );
    await Deno.writeTextFile(`${folder}/${file}`, here.replace("usage.spool", file.replace("mjs", "spool")));
    const env = { GATEHOUSE_OPERATOR_TOKEN: operatorToken, CUSTOMERS_KEY: key, GATEHOUSE_KEY: key };
    return await runLines(`node ${file}`, { cwd: folder, env });
  };
  assert.equal(await run("verify.mjs", guide("verify.mjs")), "Valid, of Northwind\n");
  await run("meter.mjs", guide("meter.mjs"));
  // Without close(): the process ends when nothing waits any more.
  await run("first.mjs", metering("record with TypeScript"));
  assert.deepEqual(await sumsOf(scene, "scripts"), { bytes: [99_170, 2], requests: [3, 3] });
}

/** The application is used, killed, started again and stopped. */
async function metersRequests(scene: Scene, name: string, command: string): Promise<void> {
  const folder = `${scene.folder}/${name}`;
  await Deno.mkdir(folder);
  await Deno.writeTextFile(`${folder}/app.mjs`, applications("app.mjs").replaceAll('"tiles"', `"${name}"`));
  const port = String(freePort());
  const gatehouse = { GATEHOUSE_URL: scene.program.baseUrl, GATEHOUSE_KEY: scene.key };
  const use = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`).catch(() => null);
    return await response?.text() === "Here is your tile.\n";
  };
  const start = () =>
    startCommand(command.replace("deno run", `'${Deno.execPath()}' run --no-lock`), {
      cwd: folder,
      env: { ...gatehouse, PORT: port },
    });
  let app = start();
  try {
    await poll(use);
    for (let i = 0; i < 2; i++) assert.ok(await use());
    await app.stop("SIGKILL");
    app = start();
    await poll(use);
    assert.ok(await use());
    assert.equal(await app.stop(), 0, app.output());
  } finally {
    await app.stop("SIGKILL");
  }
  assert.deepEqual(await sumsOf(scene, name), { requests: [5, 5] }, app.output());
}

Deno.test("the examples of the client guide work with the package as it is installed", async (t) => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-client-guide-" });
  const program = startProgram({ folder, env: { HTTP_THREADS: "1" } });
  try {
    await isReady(program);
    const scene = await prepare(program, folder);
    const steps = {
      "finds out who is signed in": () => findsOutWhoIsSignedIn(scene),
      "protects routes of Hono": () => protectsRoutes(scene, "hono", guide("hono.mjs")),
      "protects routes of Express": () => protectsRoutes(scene, "express", guide("express.mjs")),
      "records usage and verifies keys": () => recordsAndVerifies(scene),
      "an application in Node.js": () =>
        metersRequests(scene, "node", metering("start app.mjs with Node.js")),
      "an application in Deno": () => metersRequests(scene, "deno", metering("start app.mjs with Deno")),
    };
    const run = Object.entries(steps).map(([name, fn]) => t.step({ name, ...parallel, fn }));
    assert.deepEqual(await Promise.all(run), run.map(() => true));
  } finally {
    await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
});
