// Tests which Deno the ./denow wrapper runs, and that it rejects untested versions.
import assert from "node:assert/strict";

const denow = new URL("../../denow", import.meta.url).pathname;
const [, pinned = "", newest = ""] =
  /\nversion=(\S+)[^]*\nnewest=(\S+)/.exec(await Deno.readTextFile(denow)) ??
    [];

/** Runs ./denow with fake versions of Deno on the PATH and on npm. Each prints where it comes from. */
async function run(
  { path, npm = false, env = {} }: { path: string | null; npm?: boolean; env?: Record<string, string> },
): Promise<{ code: number; output: string; error: string }> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-denow-" });
  const script = async (name: string, text: string) => {
    await Deno.mkdir(name.slice(0, name.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(name, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  };
  try {
    const bin = `${folder}/bin`;
    await Deno.mkdir(bin);
    for (const tool of ["grep", "dirname", "sh"]) await Deno.symlink(await whereIs(tool), `${bin}/${tool}`);
    if (path !== null) await script(`${bin}/deno`, `echo "deno ${path} (stable, release)"`);
    if (npm) {
      // The third argument is the package.
      await script(`${bin}/npx`, `echo "${folder}/npm/\${3#deno@}/deno"`);
      for (const version of [pinned, newest]) {
        await script(`${folder}/npm/${version}/deno`, `echo "npm's ${version}"`);
      }
    }
    const { code, stdout, stderr } = await new Deno.Command(denow, {
      args: ["--version"],
      env: { PATH: bin, ...env },
      clearEnv: true,
      stdin: "null",
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
    return { code, output: text(stdout), error: text(stderr) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function whereIs(tool: string): Promise<string> {
  const { stdout } = await new Deno.Command("sh", { args: ["-c", `command -v ${tool}`] }).output();
  return new TextDecoder().decode(stdout).trim();
}

const onPath = (version: string) => `deno ${version} (stable, release)`;

Deno.test("./denow runs the pinned Deno from the PATH or else from npm", async () => {
  assert.equal((await run({ path: pinned, npm: true })).output, onPath(pinned));
  for (const path of [null, newest, "2.9.4", `${pinned}0`]) {
    assert.equal((await run({ path, npm: true })).output, `npm's ${pinned}`);
  }
});

Deno.test("./denow without npm runs a tested Deno, and rejects any other", async () => {
  assert.equal((await run({ path: pinned })).output, onPath(pinned));
  assert.equal((await run({ path: newest })).output, onPath(newest));
  for (const path of [null, "2.9.4", "2.10.0", `${newest}1`]) {
    const { code, output, error } = await run({ path });
    assert.deepEqual([code, output], [1, ""]);
    assert.match(error, new RegExp(`install Node.js .*Deno ${pinned} or ${newest}`));
  }
});

Deno.test("DENOW_VERSION=newest runs only the newest tested Deno", async () => {
  const env = { DENOW_VERSION: "newest" };
  assert.equal((await run({ path: pinned, npm: true, env })).output, `npm's ${newest}`);
  assert.equal((await run({ path: newest, npm: true, env })).output, onPath(newest));
  assert.equal((await run({ path: pinned, env })).code, 1);
});
