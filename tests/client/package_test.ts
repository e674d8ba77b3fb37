// The packed client, installed in a new folder: its files, its types for TypeScript's compiler, and its use under Node.js, Deno
// and Bun.
import assert from "node:assert/strict";
// deno-lint-ignore no-import-prefix
import nodeTypes from "npm:@types/node@26.6.6/package.json" with { type: "json" };
// deno-lint-ignore no-import-prefix
import ts from "npm:typescript@5.9.3";
// deno-lint-ignore no-import-prefix
import undiciTypes from "npm:undici-types@8.9.0/package.json" with { type: "json" };
import settings from "../../deno.json" with { type: "json" };
import { createTestKey, startTestApp } from "../support/app/app.ts";
import { npm, packClient } from "../support/client/package.ts";
import { leftLine } from "../support/client/meter_folder.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { webhookVectors } from "../support/client/webhook_vectors.ts";
import { runLines } from "../support/runner/guides.ts";
import { isMissing } from "../support/runner/needs.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { onRealPort } from "../support/app/real_app.ts";
import { startTcpProxy } from "../support/network/tcp_proxy.ts";

const root = new URL("../../", import.meta.url).pathname;
const bun = "bun@1.4.5";

const vector = webhookVectors[1] ?? assert.fail();

/** A program with valid and invalid uses. The compiler rejects an expected error that doesn't occur. */
const program = `
import { ApiError, Gatehouse, GatehouseError, type KeyVerification, Meter, type SessionUser } from "@gatehouse/client";
import type { User } from "@gatehouse/client/browser";
import { requireKey as requireKeyOfExpress } from "@gatehouse/client/express";
import { requireKey as requireKeyOfFastify } from "@gatehouse/client/fastify";
import { requireKey } from "@gatehouse/client/fetch";
import { requireSession } from "@gatehouse/client/hono";
import type { me } from "https://auth.example.com/gatehouse.js";
import type { IncomingMessage } from "node:http";
import { verifyWebhook, type WebhookEvent } from "@gatehouse/client/webhooks";

const [key = "", cookie = "", spool] = process.argv.slice(2);
const operatorToken = process.env["GATEHOUSE_OPERATOR_TOKEN"];
const gatehouse = new Gatehouse({ timeoutMs: 20_000, operatorToken, meter: { spool, onProblem() {} } });
const session = await gatehouse.me(new Request("https://maps.example.com/", { headers: { cookie } }));
const usage = { product: "tiles", metric: "requests", quantity: 0.1 + 0.2, record: true };
const verification: KeyVerification = await gatehouse.verify(key, { usage });
if (!verification.valid) throw new Error(verification.code);
const apiKeyId = verification.apiKey.id;
gatehouse.meter.record({ product: "tiles", metric: "bytes", quantity: 5, apiKeyId });
gatehouse.meter.record({ product: "tiles", metric: "no metric!", apiKeyId });
const isClosed = await gatehouse.close();
const wrong = await new Gatehouse({ operatorToken: "wrong" }).verify(key).catch((error: unknown) => error);
const code = wrong instanceof ApiError && wrong instanceof GatehouseError ? wrong.code : null;
const { secret, id, timestamp, body, signature } = ${JSON.stringify(vector)};
const headers = { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": signature };
const event: WebhookEvent = await verifyWebhook(body, { headers, secret, now: timestamp * 1000 });
console.log(JSON.stringify([session.user?.name, verification.organization.id, isClosed, code, event]));

export async function uses(request: IncomingMessage, inPage: Awaited<ReturnType<typeof me>>) {
  const session: SessionUser = inPage;
  const user: User | null = session.user;
  await gatehouse.me(request);
  await gatehouse.me(request.headers);
  await gatehouse.me({ headers: new Headers() });
  await verifyWebhook(new Uint8Array(), { headers: request.headers, secret: [process.env["NEW"], process.env["OLD"]] });
  new Meter({ apiKey: key, spool: "./usage.spool" }).record({ product: "tiles", metric: "requests" });
  // @ts-expect-error: no request
  await gatehouse.me("access_token=1");
  // @ts-expect-error: nobody may be signed in
  session.user.email;
  // @ts-expect-error: the key may be invalid
  (await gatehouse.verify(key)).apiKey.id;
  // @ts-expect-error: no such code
  if ((await gatehouse.verify(key)).code === "WRONG") return;
  // @ts-expect-error: the metric is missing
  await gatehouse.verify(key, { usage: { product: "tiles" } });
  // @ts-expect-error: no such option
  new Gatehouse({ token: "x" });
  return user;
}
export const middleware = [requireSession, requireKey, requireKeyOfExpress, requireKeyOfFastify];
`;

/** Copies packages from the cache of Deno, so that nothing is downloaded. */
async function copyPackages(folder: string): Promise<void> {
  const cache = ts.sys.getExecutingFilePath().split("/").slice(0, -4).join("/");
  const hono = settings.imports.hono.split("@")[1];
  await Deno.mkdir(`${folder}/node_modules/@types`, { recursive: true });
  const versions = { "@types/node": nodeTypes.version, "undici-types": undiciTypes.version, hono };
  for (const [name, version] of Object.entries(versions)) {
    await runLines(`cp -r ${cache}/${name}/${version} node_modules/${name}`, { cwd: folder });
  }
}

/** Compiles the program. Of declaration files, checks only those of the client: the others take long. */
function compile(folder: string, module: ts.ModuleKind, moduleResolution: ts.ModuleResolutionKind): void {
  const compiled = ts.createProgram([`${folder}/program.ts`], {
    module,
    moduleResolution,
    target: ts.ScriptTarget.ES2022,
    types: ["node"],
    typeRoots: [`${folder}/node_modules/@types`],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
  });
  const files = compiled.getSourceFiles().filter(({ fileName }) =>
    /\/program\.ts$|@gatehouse/.test(fileName)
  );
  assert.ok(files.length > 10, "the package was not found");
  const faults = files.flatMap((file) => [
    ...compiled.getSyntacticDiagnostics(file),
    ...compiled.getSemanticDiagnostics(file),
  ]);
  const messages = [...compiled.getOptionsDiagnostics(), ...compiled.getGlobalDiagnostics(), ...faults]
    .map(({ messageText, file }) =>
      `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`
    );
  assert.deepEqual(messages, []);
  // Only this file: for all of them, the compiler would also check the types of Node.js.
  compiled.emit(files.find(({ fileName }) => fileName.endsWith("/program.ts")));
}

async function expectedFiles(folder = `${root}packages/client/src`, to = "dist"): Promise<string[]> {
  const files: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) files.push(...await expectedFiles(`${folder}/${name}`, `${to}/${name}`));
    else if (name.endsWith(".d.ts")) files.push(`${to}/${name}`);
    else files.push(`${to}/${name.replace(/\.ts$/, ".js")}`, `${to}/${name.replace(/\.ts$/, ".d.ts")}`);
  }
  return files;
}

Deno.test({
  name: "the packed client",
  ignore: isMissing("node", "npm"),
  async fn(t) {
    const cwd = await Deno.makeTempDir({ prefix: "gatehouse-package-" });
    const tarball = await packClient(cwd);
    await Deno.writeTextFile(`${cwd}/package.json`, JSON.stringify({ private: true, type: "module" }));
    await npm(`install ${tarball} --offline`, cwd);
    await t.step("has exactly its files, the version of the program, and no dependency", async () => {
      const files = (await runLines(`tar --list --file ${tarball}`, { cwd })).trim().split("\n").sort();
      const expected = ["LICENSE", "README.md", "package.json", ...await expectedFiles()];
      assert.deepEqual(files, expected.map((file) => `package/${file}`).sort());
      const installed = await Deno.readTextFile(`${cwd}/node_modules/@gatehouse/client/package.json`);
      const { version, dependencies } = JSON.parse(installed);
      assert.deepEqual([version, dependencies], [settings.version, undefined]);
      const packages = Array.from(Deno.readDirSync(`${cwd}/node_modules`), ({ name }) => name).sort();
      assert.deepEqual(packages, [".package-lock.json", "@gatehouse"]);
    });
    await copyPackages(cwd);
    await Deno.writeTextFile(`${cwd}/program.ts`, program);
    const { Bundler, NodeNext } = ts.ModuleResolutionKind;
    await t.step("has types for a bundler", () => compile(cwd, ts.ModuleKind.ESNext, Bundler));
    await t.step("has types for Node.js", () => compile(cwd, ts.ModuleKind.NodeNext, NodeNext));
    await underRuntimes(t, cwd);
    await Deno.remove(cwd, { recursive: true });
  },
});

/** @returns A spool with a record of an earlier process and two links, and the file that they lead to. */
async function leftSpool(cwd: string, apiKeyId: string): Promise<{ spool: string; victim: string }> {
  const spool = await Deno.makeTempDir({ dir: cwd, prefix: "spool-" });
  const victim = `${cwd}/victim`;
  await Deno.writeTextFile(`${spool}/left.jsonl`, leftLine("left", { apiKeyId }));
  await Deno.writeTextFile(victim, "not yours\n");
  for (const name of ["planted", "rejected"]) await Deno.symlink(victim, `${spool}/${name}.jsonl`);
  return { spool, victim };
}

async function underRuntimes(t: Deno.TestContext, cwd: string): Promise<void> {
  const test = await startTestApp();
  test.advance(Date.now() - test.now());
  const { fullToken } = await newOperatorToken(test);
  const npx = `npx --yes --package ${bun} --call "command -v bun"`;
  const bunPath = await runLines(npx, { cwd }).then((path) => path.trim(), () => null);
  const commands: Record<string, string | null> = {
    "Node.js": "node",
    "Deno": `'${Deno.execPath()}' run --no-prompt --allow-net --allow-env --allow-read --allow-write`,
    [bunPath === null ? `Bun, which npx can't install` : "Bun"]: bunPath,
  };
  await onRealPort(test, async (baseUrl) => {
    const proxy = startTcpProxy({ targetPort: Number(new URL(baseUrl).port) });
    const env = { GATEHOUSE_URL: proxy.url, GATEHOUSE_OPERATOR_TOKEN: fullToken };
    for (const [name, command] of Object.entries(commands)) {
      const run = async () => {
        const person = await test.signUp();
        const { id: apiKeyId, fullKey } = await createTestKey(test, person);
        const { spool, victim } = await leftSpool(cwd, apiKeyId);
        proxy.loseAnswers({ count: 1, toRequestsWith: "/api/v1/keys/verify" });
        const args = `${fullKey} '${person.cookie}' ${spool}`;
        const printed = await runLines(`${command} program.js ${args}`, { cwd, env });
        const event = JSON.parse(vector.body);
        const expected = ["Ada Lovelace", person.organizationId, true, "invalid_operator_token", event];
        assert.deepEqual(JSON.parse(printed), expected);
        assert.equal(proxy.answersToLose, 0);
        assert.deepEqual(await usageOf(test, fullKey), { requests: [0.3, 1], bytes: [5, 1], left: [1, 1] });
        assert.equal(await Deno.readTextFile(victim), "not yours\n");
        const names = Array.from(Deno.readDirSync(spool), ({ name }) => name).sort();
        assert.deepEqual(names, ["planted.jsonl", "rejected.jsonl"]);
      };
      await t.step({
        name: `works under ${name}, and counts once after a lost response`,
        ignore: command === null,
        fn: run,
      });
    }
    await proxy.close();
  });
  await test.dispose();
}
