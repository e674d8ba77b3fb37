// The runner of the tests: what it runs, reports and leaves behind.
import assert from "node:assert/strict";
import { root } from "./support/build/sources.ts";
import { endProcesses, RunFolder } from "./support/runner/leftovers.ts";
import { installCommand } from "./support/runner/needs.ts";
import { poll } from "./support/runner/poll.ts";
import { readResults } from "./support/runner/results.ts";
import { sharesOf, testFiles } from "./support/runner/shares.ts";

async function inFolder(act: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-runner-" });
  try {
    await act(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs a file of tests with `./denow test`. @returns Its output, and what the runner reads of it. */
async function runTests(folder: string, text: string) {
  await Deno.writeTextFile(`${folder}/a_test.ts`, text);
  const { stdout } = await new Deno.Command(`${root}denow`, {
    args: ["test", "--allow-all", "--no-check", "--no-config", "--junit-path=results.xml", "a_test.ts"],
    cwd: folder,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stderr: "null",
  }).output();
  return { output: new TextDecoder().decode(stdout), results: await readResults(`${folder}/results.xml`) };
}

Deno.test("a failure in the background fails the test that caused it, with its name", async () => {
  await inFolder(async (folder) => {
    const { output, results } = await runTests(
      folder,
      `const { promise: rejected, resolve: reject } = Promise.withResolvers();
      Deno.test("rejects “later” & ends", () => { rejected.then(() => { throw new Error("too late"); }); });
      Deno.test("passes", () => {});
      Deno.test({ name: "is skipped", ignore: true, fn() {} });
      Deno.test("rejects", () => { Promise.reject(new Error("in the background")); });
      Deno.test("throws in a step", async (test) => {
        await test.step("step", () => { queueMicrotask(() => { throw new Error("from a step"); }); });
      });
      Deno.test("runs when another one rejects", async () => { reject(); await new Promise(() => {}); });
      Deno.test("passes, too", () => {});`,
    );
    assert.match(output, /\nrejects => \S+\nerror: Error: failed in the background: in the background/);
    assert.match(output, /\nthrows in a step => \S+\nerror: Error: failed in the background: from a step/);
    assert.match(
      output,
      /\nruns when another one rejects => \S+\nerror: .*background of “rejects “later” & ends”, which had ended: too late/,
    );
    const failed = ["rejects", "throws in a step", "runs when another one rejects"];
    assert.deepEqual([results.passed, results.failed, results.skipped], [3, failed, ["is skipped"]]);
    assert.equal(results.files, 1);
    assert.deepEqual(results.tests[0]?.name, "rejects “later” & ends");
  });
});

Deno.test({
  name: "ends processes that a run left behind, and names their commands",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const mark = `TEST_RUN=${crypto.randomUUID()}`;
    const [name = "", value = ""] = mark.split("=");
    const left = new Deno.Command("sleep", { args: ["1000"], clearEnv: true, env: { [name]: value } })
      .spawn();
    // It has its environment only once it is a program of its own.
    await poll(() => Deno.readTextFileSync(`/proc/${left.pid}/environ`).includes(mark));
    const ended = endProcesses(mark);
    assert.match(ended.join("\n"), /^\S*sleep 1000$/);
    assert.equal((await left.status).signal, "SIGKILL");
    assert.deepEqual(endProcesses(mark), []);
  },
});

Deno.test("lists what tests left in the folders of a run, and removes it", async () => {
  const folder = await RunFolder.create();
  const { TMPDIR, TEST_MEMORY_FOLDER } = folder.env;
  for (const path of [`${TMPDIR}/forgotten`, `${TEST_MEMORY_FOLDER}/data`]) await Deno.mkdir(path);
  assert.deepEqual(folder.leftFiles(), ["forgotten", "data"]);
  folder.remove();
  for (const path of [TMPDIR, TEST_MEMORY_FOLDER, folder.path]) {
    await assert.rejects(Deno.stat(path ?? ""), Deno.errors.NotFound);
  }
});

Deno.test("every test file is in one share, and a subject has the files of its folders and name", async () => {
  await inFolder(async (folder) => {
    const files = testFiles([]);
    const texts = await Promise.all((await sharesOf(files, folder)).map((path) => Deno.readTextFile(path)));
    const imported = texts.flatMap((text) =>
      [...text.matchAll(/"file:\/\/([^"]+)"/g)].map(([, path = ""]) => path)
    );
    assert.deepEqual(imported.map((path) => path.slice(root.length)).sort(), [...files].sort());
    const meter = testFiles(["meter"]);
    for (const file of ["tests/db/meter/rollups_test.ts", "tests/client/meter_test.ts"]) {
      assert.ok(meter.includes(file), file);
    }
    assert.ok(meter.length < files.length / 3 && !meter.includes("tests/runner_test.ts"));
    assert.deepEqual(testFiles(["tests/runner_test.ts"]), ["tests/runner_test.ts"]);
  });
});

Deno.test("says how to install what tests missed", () => {
  assert.equal(installCommand("nginx\ngo\nnginx\n"), "apt-get install golang-go nginx");
});

Deno.test("rounds of faults don't shorten the time limit of their tests", async () => {
  const limitWith = async (rounds: string) => {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", `console.log((await import("${root}tests/support/runner/random.ts")).faultsTimeoutMs)`],
      env: { FAULT_ROUNDS: rounds, NO_COLOR: "1" },
      stdin: "null",
      stderr: "null",
    }).output();
    return Number(new TextDecoder().decode(stdout));
  };
  for (const rounds of ["1", "900"]) assert.equal(await limitWith(rounds), 1_200_000);
});
