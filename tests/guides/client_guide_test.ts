// docs/client.md and the part of docs/metering.md for TypeScript: the package is built and installed, and its examples run against
// Gatehouse.
import assert from "node:assert/strict";
import type { TestApp } from "../support/app/app.ts";
import { metered, type Scene as MeterScene } from "../support/client/meter_scene.ts";
import { npm, packClient } from "../support/client/package.ts";
import { freePort } from "../support/database/sqld.ts";
import { addLimit } from "../support/meter/limits.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { run } from "../support/people/scene.ts";
import { readExamples, readGuide, runLines, startCommand } from "../support/runner/guides.ts";
import { poll } from "../support/runner/poll.ts";

const guide = await readGuide("client.md");
const metering = await readGuide("metering.md");
const applications = await readExamples("metering");
const frameworks = "hono@4.13.19 @hono/node-server@2.1.8 express@5.3.0 fastify@5.12.8";

/** A customer with a key, and the folder of a product with the client installed. */
interface Scene {
  readonly test: TestApp;
  /** Of Gatehouse. */
  readonly gatehouseUrl: string;
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
  const { folder, gatehouseUrl, operatorToken } = scene;
  await Deno.writeTextFile(
    `${folder}/${file}`,
    onThisMachine(text, gatehouseUrl).replaceAll("3000", String(port)),
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

const onThisMachine = (text: string, url: string): string => text.replaceAll("https://auth.example.com", url);

async function ask(url: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(url, { headers, redirect: "manual" });
  return `${response.status} ${await response.text()}`;
}

async function sumsOf({ test, key }: Scene, product: string): Promise<Record<string, [number, number]>> {
  const path = `/api/v1/usage?window=month&groupBy=metric&productSlug=${product}`;
  const { data } = await (await test.send(path, { apiKey: key })).json() as {
    data: { metric: string; sum: number; count: number }[];
  };
  return Object.fromEntries(data.map(({ metric, sum, count }) => [metric, [sum, count]]));
}

async function prepare({ test, line, folder }: MeterScene): Promise<Scene> {
  const person = await test.signUp("Ada");
  const { organizationId, cookie } = person;
  await run(test, "UPDATE organizations SET name = 'Northwind' WHERE id = ?", organizationId);
  const json = { name: "Tiles", permissions: ["usage:write", "usage:read", "tiles:read"] };
  const { fullKey: key } = await (await test.send("/api/portal/api-keys", { cookie, json })).json();
  for (const metric of ["hono", "express", "fastify"]) {
    await addLimit(test, { organizationId }, { metric, per: "total", quantity: 1, mode: "hard" });
  }
  const limit = {
    productSlug: "models",
    metric: "tokens",
    per: "total",
    quantity: 1_000,
    mode: "hard",
  } as const;
  await addLimit(test, { organizationId }, limit);
  const { fullToken: operatorToken } = await newOperatorToken(test, ["keys:verify", "usage:write"]);
  await Deno.writeTextFile(`${folder}/package.json`, "{}");
  const { pathname } = new URL(`file://${await packClient(folder)}`);
  assert.equal(
    guide("install").trim(),
    `npm install https://auth.example.com/download/${pathname.split("/").at(-1)}`,
  );
  await npm(`install ${pathname} ${frameworks}`, folder);
  return { test, gatehouseUrl: line.url, folder, cookie, key, operatorToken };
}

async function findsOutWhoIsSignedIn(scene: Scene): Promise<void> {
  await withServer(scene, { file: "me.mjs", text: guide("me.mjs") }, async (url) => {
    assert.equal(await ask(url, { cookie: scene.cookie }), "200 Hello Ada, OWNER.\n");
    assert.equal(await ask(url), "200 Sign in first.\n");
  });
  const { folder, gatehouseUrl } = scene;
  const here = { file: "fetch.mjs", text: guide("fetch.mjs") };
  const command =
    `'${Deno.execPath()}' run --no-lock --allow-net --allow-env --allow-read=${folder} fetch.mjs`;
  await withServer(scene, { ...here, command }, async (url) => {
    assert.equal(await ask(url, { cookie: scene.cookie }), "200 Hello Ada.\n");
    const page = await fetch(url, { headers: { accept: "text/html" }, redirect: "manual" });
    const query = new URLSearchParams({ return_to: `${url}/` });
    assert.equal(page.headers.get("location"), `${gatehouseUrl}/sign-in?${query}`);
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

async function holdsAndSettles(scene: Scene): Promise<void> {
  await withServer(scene, { file: "models.mjs", text: guide("models.mjs") }, async (url) => {
    const authorization = `Bearer ${scene.key}`;
    const words = "Hello\nfrom\nthe\nmodel.\n";
    assert.equal(await ask(`${url}/chat`, { authorization }), `200 ${words}`);
    await poll(async () => (await sumsOf(scene, "models"))["tokens"]?.[0] === 4);
    assert.match(await ask(`${url}/chat?max=1000`, { authorization }), /^429 .*"limit_exceeded"/);
    assert.equal(await ask(`${url}/chat?max=996`, { authorization }), `200 ${words}`);
    await poll(async () => (await sumsOf(scene, "models"))["tokens"]?.[0] === 8);
  });
}

async function recordsAndVerifies(scene: Scene): Promise<void> {
  const { folder, gatehouseUrl, key, operatorToken } = scene;
  const runFile = async (file: string, text: string) => {
    const here = onThisMachine(text, gatehouseUrl).replaceAll('"tiles"', '"scripts"').replace(
      "service_live_…",
      key,
    );
    await Deno.writeTextFile(`${folder}/${file}`, here.replace("usage.spool", file.replace("mjs", "spool")));
    const env = { GATEHOUSE_OPERATOR_TOKEN: operatorToken, CUSTOMERS_KEY: key, GATEHOUSE_KEY: key };
    return await runLines(`node ${file}`, { cwd: folder, env });
  };
  assert.equal(await runFile("verify.mjs", guide("verify.mjs")), "Valid, of Northwind\n");
  await runFile("meter.mjs", guide("meter.mjs"));
  // Without close(): the process ends when nothing waits any more.
  await runFile("first.mjs", metering("record with TypeScript"));
  assert.deepEqual(await sumsOf(scene, "scripts"), { bytes: [99_170, 2], requests: [3, 3] });
}

/** The application is used, killed, started again and stopped. */
async function metersRequests(scene: Scene, name: string, command: string): Promise<void> {
  const folder = `${scene.folder}/${name}`;
  await Deno.mkdir(folder);
  await Deno.writeTextFile(`${folder}/app.mjs`, applications("app.mjs").replaceAll('"tiles"', `"${name}"`));
  const port = String(freePort());
  const gatehouse = { GATEHOUSE_URL: scene.gatehouseUrl, GATEHOUSE_KEY: scene.key };
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

async function runExamples(given: MeterScene): Promise<void> {
  const scene = await prepare(given);
  const runs = [
    findsOutWhoIsSignedIn(scene),
    protectsRoutes(scene, "hono", guide("hono.mjs")),
    protectsRoutes(scene, "express", guide("express.mjs")),
    protectsRoutes(scene, "fastify", guide("fastify.mjs")),
    recordsAndVerifies(scene),
    metersRequests(scene, "node", metering("start app.mjs with Node.js")),
    metersRequests(scene, "deno", metering("start app.mjs with Deno")),
  ];
  // All end before the folder is removed.
  for (const result of await Promise.allSettled(runs)) if (result.status === "rejected") throw result.reason;
  await holdsAndSettles(scene);
}

metered("the client guide", { "has examples that work with the package as it is installed": runExamples });
