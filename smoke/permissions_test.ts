// Tests the binary's permissions with a program that tries to exceed them, and the error of a failed compilation.
import assert from "node:assert/strict";
import { settings } from "../config.ts";
import { isReady, startProgram } from "../tests/support/process/program.ts";
import { compile, explainFailure } from "../tests/support/build/compile.ts";

const binary = new URL("../dist/gatehouse", import.meta.url).pathname;

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-permissions-" });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("the binary can read only its own settings, can't run programs, and can't write files once it serves", () =>
  inFolder(async (folder) => {
    const made = await compile({ to: `${folder}/probe`, main: "smoke/probe.ts" });
    assert.equal(made.code, 0, made.output);
    const { stdout, stderr } = await new Deno.Command(`${folder}/probe`, {
      cwd: folder,
      clearEnv: true,
      env: {
        SMTP_URL_FILE: "a",
        DATABASE_URI: "b",
        AWS_SECRET_ACCESS_KEY: "c",
        HOME: folder,
        LD_PRELOAD: "",
      },
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assert.deepEqual(JSON.parse(text(stdout) || text(stderr)), {
      environment: ["DATABASE_URI", "SMTP_URL_FILE"],
      otherName: ["undefined", "undefined"],
      run: "NotCapable",
      system: "NotCapable",
      writeAtStart: "written",
      writeLater: "NotCapable",
    });
  }));

Deno.test("the binary reads every setting", () =>
  inFolder(async (folder) => {
    const nonsense = "\u0001".padEnd(60, "?");
    // What is wrong with these shows only if the others are right.
    const last = ["DATABASE_URL", "BRAND_LOGO"];
    for (
      const names of [
        Object.keys(settings).filter((name) => !last.includes(name)),
        ...last.map((name) => [name]),
      ]
    ) {
      const { code, stderr } = await new Deno.Command(binary, {
        cwd: folder,
        clearEnv: true,
        env: { HOME: folder, ...Object.fromEntries(names.map((name) => [name, nonsense])) },
      }).output();
      const output = new TextDecoder().decode(stderr);
      assert.equal(code, 78, output);
      for (const name of names) assert.match(output, new RegExp(`^(gatehouse: )?${name}: `, "m"));
    }
  }));

Deno.test("the binary loads the code for passwords before it serves, from a folder that no one else can change", () =>
  inFolder(async (folder) => {
    const own = `${folder}/gatehouse-${Deno.uid()}`;
    const env = { HOME: folder, TMPDIR: folder };
    const unusable: [string, () => void][] = [
      ["isn't a folder", () => Deno.symlinkSync(folder, own)],
      ["others can write to it", () => {
        Deno.mkdirSync(own);
        Deno.chmodSync(own, 0o777);
      }],
    ];
    for (const [why, arrange] of unusable) {
      arrange();
      const { code, stderr } = await new Deno.Command(binary, { cwd: folder, clearEnv: true, env }).output();
      const output = new TextDecoder().decode(stderr);
      assert.equal(code, 78, output);
      assert.ok(output.includes(own) && output.includes(why), output);
      const check = await new Deno.Command(binary, { args: ["check"], cwd: folder, clearEnv: true, env })
        .output();
      assert.match(
        new TextDecoder().decode(check.stdout),
        new RegExp(`^wrong +Temporary folder .*${why}`, "m"),
      );
      await Deno.remove(own, { recursive: true });
    }
    assert.deepEqual([...Deno.readDirSync(folder)], [], "nothing was created");
    const program = startProgram({ folder, binary, bareEnvironment: true, env });
    await isReady(program);
    assert.match([...Deno.readDirSync(own)].map(({ name }) => name).join(), /^gatehouse\d+\.node$/);
    assert.equal((Deno.statSync(own).mode ?? 0) & 0o777, 0o700);
    program.kill("SIGTERM");
    assert.equal(await program.ended(), 0, program.output());
  }));

Deno.test("compiling without a base runtime fails with one line that says what to do", () =>
  inFolder(async (folder) => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--allow-all",
        new URL("../tests/support/build/compile.ts", import.meta.url).pathname,
        `${folder}/binary`,
      ],
      env: { DENORT_BIN: `${folder}/missing` },
    }).output();
    const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assert.notEqual(code, 0);
    assert.match(output, /^compile: no base runtime\. .*DENORT_BIN.*\n$/);
    assert.equal(
      explainFailure("error: a type is wrong\n\nStack backtrace:\n   0: <unknown>\n"),
      "error: a type is wrong",
    );
  }));
