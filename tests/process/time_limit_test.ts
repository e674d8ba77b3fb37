// Checks in child processes that tests fail when they hang, or when what they started fails later.
import assert from "node:assert/strict";

const root = new URL("../../", import.meta.url);
const { TEST_TIMEOUT_MS: _, ...environment } = Deno.env.toObject();

/** Runs files of tests with `./denow test`, starting with `a_test.ts`. @throws After a minute. */
async function runTests(files: Record<string, string>, env: Record<string, string> = {}) {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-hanging-" });
  try {
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${folder}/${name}`, text);
    const { code, stdout } = await new Deno.Command(new URL("denow", root).pathname, {
      args: ["test", "--allow-all", "--no-check", "--no-config", "a_test.ts"],
      cwd: folder,
      env: { ...environment, ...env, NO_COLOR: "1" },
      clearEnv: true,
      stdin: "null",
      stderr: "null",
      signal: AbortSignal.timeout(60_000),
    }).output();
    return { code, output: new TextDecoder().decode(stdout) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Waits for nothing, and for a request that never arrives. */
const hangs = ["new Promise(() => {})", "Deno.serve({ port: 0 }, () => new Response()).finished"];

Deno.test("a test that hangs fails with its name and line, and the tests after it run", async () => {
  for (const hang of hangs) {
    const { code, output } = await runTests({
      "a_test.ts": `Deno.test("before", () => {});
        Deno.test("hangs", () => ${hang});
        Deno.test({ name: "has options", ignore: false, fn: () => ${hang} });
        Deno.test("has both", { sanitizeOps: false }, () => ${hang});
        Deno.test(async function isNamed() { await ${hang}; });
        Deno.test("has steps", async (test) => {
          await test.step("first", () => {});
          await test.step("hanging step", () => ${hang});
        });
        await import("./b_test.ts");
        Deno.test("after", () => {});
        Deno.test.afterAll(() => console.log("cleaned up"));`,
      "b_test.ts": `Deno.test("is imported", () => ${hang});
        Deno.test({ name: "is ignored", ignore: true, fn: () => ${hang} });
        Deno.test.ignore("is also ignored", () => ${hang});`,
    }, { TEST_TIMEOUT_MS: "300" });
    assert.equal(code, 1);
    const lines = [
      "hangs => ./a_test.ts:2:14",
      "has options => ./a_test.ts:3:14",
      "has both => ./a_test.ts:4:14",
      "isNamed => ./a_test.ts:5:14",
      "has steps => ./a_test.ts:6:14",
      "is imported => ./b_test.ts:1:6",
    ];
    for (const line of lines) {
      assert.match(output, new RegExp(`${line}\nerror: .*still running after its time limit of 300 ms`));
    }
    assert.match(output, /hanging step \.\.\. INCOMPLETE/);
    assert.match(output, /\nafter \.\.\. ok/);
    assert.match(output, /cleaned up/);
    assert.match(output, /FAILED \| 2 passed \(1 step\) \| 6 failed \(1 step\) \| 2 ignored/);
  }
});

Deno.test("a test has the time limit of its definition, and a test in time passes", async () => {
  const { code, output } = await runTests({
    "a_test.ts": `Deno.test({ name: "hangs", timeout: 200, fn: () => new Promise(() => {}) });
      Deno.test("has both", { timeout: 200 }, () => new Promise(() => {}));
      Deno.test("returns", () => {});
      Deno.test("waits", { timeout: 60_000 }, () => new Promise((resolve) => setTimeout(resolve, 400)));
      Deno.test("has no limit", { timeout: 0 }, () => new Promise((resolve) => setTimeout(resolve, 1)));
      Deno.test("rejects", () => Promise.reject(new Error("its own error")));`,
  });
  assert.equal(code, 1);
  assert.equal(output.match(/time limit of 200 ms/g)?.length, 2, output);
  assert.match(output, /error: Error: its own error/);
  assert.match(output, /FAILED \| 3 passed \| 3 failed/);
});

Deno.test("what fails after its test has ended fails the next test, or the file after the last one", async () => {
  const fails = `Deno.test("ends", () => void setTimeout(() => Promise.reject(new Error("too late")), 5));
    Deno.test.afterEach(() => new Promise((resolve) => setTimeout(resolve, 50)));`;
  const runs = [fails, `${fails} Deno.test("next", () => {}); Deno.test("last", () => {});`];
  const [last, next] = await Promise.all(runs.map((text) => runTests({ "a_test.ts": text })));
  for (const run of [last, next]) {
    assert.equal(run?.code, 1);
    assert.match(run.output, /failed in the background of “ends”, which had ended: too late/);
  }
  assert.match(next?.output ?? "", /FAILED . 2 passed . 1 failed/);
});

Deno.test("every task that runs tests does so with ./denow test", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
  assert.match(JSON.stringify(tasks), /\.\/denow test /);
  assert.doesNotMatch(JSON.stringify(tasks), /(?<!\.\/)\bdeno test /);
});
