// Compiles a bundle of the program into dist/gatehouse. It embeds no packages apart from the bundle but the one with
// native code, because the binary keeps all embedded files in memory. Run by `deno task compile`.
import { resolve } from "node:path";
import deno from "../../../deno.json" with { type: "json" };
import { permissionFlags } from "../process/permissions.ts";
import { bundle, external, filesIn } from "./bundle.ts";
import { productionLock } from "./production_lock.ts";
import { output, root } from "./sources.ts";

/** Part of the paths in the binary. */
const program = `${root}dist/program`;

/** Returns the commit, with `-changed` if the work tree differs; null outside a repository. COMMIT overrides it. */
async function readCommit(): Promise<string | null> {
  const given = Deno.env.get("COMMIT");
  if (given) return given;
  try {
    const commit = await output("git", ["rev-parse", "HEAD"]);
    return await output("git", ["status", "--porcelain"]) === "" ? commit : `${commit}-changed`;
  } catch {
    return null;
  }
}

async function buildFiles(): Promise<void> {
  await output(Deno.execPath(), ["task", "client"]);
  await Deno.writeTextFile(`${root}dist/build.json`, JSON.stringify({ commit: await readCommit() }));
}

/** Bundles the program in a folder of its own, with the configuration of what it doesn't contain. */
async function bundleProgram(): Promise<void> {
  await Deno.remove(program, { recursive: true }).catch(() => {});
  await bundle(program);
  const specifier = deno.imports[external];
  const { nodeModulesDir, unstable } = deno;
  const config = { nodeModulesDir, unstable, imports: { [external]: specifier } };
  const lock = JSON.parse(await Deno.readTextFile(`${root}deno.production.lock`));
  const packages = { ...productionLock(lock, [specifier]), workspace: { dependencies: [specifier] } };
  await Deno.writeTextFile(`${program}/deno.json`, JSON.stringify(config));
  await Deno.writeTextFile(`${program}/deno.lock`, JSON.stringify(packages));
  // The binary has the times of its files: the same content must result in the same bytes.
  for (const path of filesIn(program)) await Deno.utime(path, 0, 0);
}

/** Lists what the compiler doesn't find by itself: threads, maps, and what was built before. */
function includedFiles(): string[] {
  const paths = [...filesIn(program)].map((path) => path.slice(program.length + 1)).sort();
  return paths.filter((path) => /^dist\/|^[^/]+_worker\.js$|\.map$/.test(path));
}

/**
 * Runs the compiler.
 *
 * @param options `to`: the path of the binary. `main`: another program to compile from its source with the same
 * permissions, for a test.
 * @returns The compiler's exit status and output.
 */
export async function compile(
  { to, main }: { to: string; main?: string },
): Promise<{ code: number; output: string }> {
  if (main === undefined) {
    await buildFiles();
    await bundleProgram();
  }
  const args = [
    "compile",
    `--lock=${main === undefined ? "deno.lock" : "deno.production.lock"}`,
    "--frozen",
    // The runtime would read compiled code from a file in the temporary folder, which any user of the machine can write.
    "--no-code-cache",
    ...permissionFlags,
    // The compiler also runs with the program's flags of V8, which leave too little memory to check types.
    "--no-check",
    ...(main === undefined ? includedFiles().map((path) => `--include=${path}`) : []),
    `--output=${to}`,
    main ?? "main.js",
  ];
  const command = new Deno.Command(Deno.execPath(), {
    args,
    cwd: main === undefined ? program : root,
    // The compiler's default stack is too small for these packages.
    env: { RUST_MIN_STACK: "33554432", NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
  const { code, stdout, stderr } = await command.output();
  return { code, output: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

/** @returns One line that explains a missing base runtime, or else the output without the compiler's stack trace. */
export function explainFailure(output: string): string {
  return /base binary|denort/.test(output)
    ? `compile: no base runtime. Deno downloads it from dl.deno.land; where that can't be reached, set DENORT_BIN to the ` +
      `denort program of Deno ${Deno.version.deno} (see "Build the binary" in docs/operations.md).`
    : output.replace(/\n*Stack backtrace:[\s\S]*$/, "").trim();
}

if (import.meta.main) {
  const { code, output } = await compile({ to: resolve(Deno.args[0] ?? `${root}dist/gatehouse`) });
  const text = code === 0 ? output : `${explainFailure(output)}\n`;
  Deno.stderr.writeSync(new TextEncoder().encode(text));
  Deno.exit(code);
}
