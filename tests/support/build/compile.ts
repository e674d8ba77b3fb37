// Compiles the program into dist/gatehouse, without package files that it never reads (source maps, types, tests,
// documents), because the binary keeps all embedded files in memory. Run by `deno task compile`.
import deno from "../../../deno.json" with { type: "json" };
import { permissionFlags } from "../process/permissions.ts";
import { output, root, workers } from "./sources.ts";

/** Built before: what it was built from, and what the server offers at /download/. */
const builtFiles = ["dist/build.json", `dist/gatehouse-client-${deno.version}.tgz`];
const unread = /(\.map|\.d\.[cm]?ts|\.md|\.markdown)$/;
/** Duplicate package files, by package: builds for other module systems, which this program doesn't load. */
const duplicates: Readonly<Record<string, RegExp>> = {
  "@noble/hashes": /^src$/,
  "@peculiar/x509": /^build\/x509(\.es)?\.js$/,
  "@logtape/logtape": /\.cjs$/,
  "@simplewebauthn/server": /^script$/,
  "@zxcvbn-ts/language-common": /^src$|^dist\/(zxcvbn-ts\.js|.*\.mjs)$/,
  "bowser": /^(bundled|es5)\.js$|^src$/,
  "hono": /^dist\/cjs$/,
  "htmx.org": /^dist\/(?!htmx\.min\.js$)/,
  "marked": /^(bin|man)$|^lib\/marked\.umd\.js$/,
  "nodemailer": /^dist\/cjs$/,
  "otpauth": /^dist\/otpauth\.(?!esm\.js$)/,
  "tldts": /^dist\/(es6$|index\.)/,
  "tldts-core": /^dist\/es6$/,
  "yaml": /^browser$/,
  "zod": /^(src|v3|v4\/mini)$|\.cjs$/,
};
const unreadFolders = new Set(["test", "tests", "docs", "example", "examples"]);

/** @returns The package files and folders that the binary doesn't need. */
async function unneededFiles(lockPath: string): Promise<string[]> {
  const info = JSON.parse(await output(Deno.execPath(), ["info", "--json"])) as { npmCache: string };
  const lock = JSON.parse(await Deno.readTextFile(lockPath)) as { npm: Record<string, unknown> };
  const found: string[] = [];
  for await (const registry of Deno.readDir(info.npmCache)) {
    for (const specifier of Object.keys(lock.npm)) {
      // Such as `@hono/zod-openapi@1.6.3_hono@4.13.19`: the version ends where peers begin.
      const at = specifier.indexOf("@", 1);
      const version = specifier.slice(at + 1).split("_")[0] ?? "";
      const name = specifier.slice(0, at);
      const folder = `${info.npmCache}/${registry.name}/${name}/${version}`;
      if (await Deno.stat(folder).then(({ isDirectory }) => isDirectory, () => false)) {
        await walk({ folder, within: "", duplicate: duplicates[name] }, found);
      }
    }
  }
  return found;
}

async function walk(
  { folder, within, duplicate }: { folder: string; within: string; duplicate: RegExp | undefined },
  found: string[],
): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(`${folder}/${within}`)) {
    const path = `${within}${name}`;
    const isUnread = isDirectory ? unreadFolders.has(name) : unread.test(name);
    if (isUnread || duplicate?.test(path)) found.push(`${folder}/${path}`);
    else if (isDirectory) await walk({ folder, within: `${path}/`, duplicate }, found);
  }
}

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
  // The binary has the times of its files: the same content must result in the same bytes.
  for (const file of builtFiles) await Deno.utime(root + file, 0, 0);
}

/**
 * Runs the compiler.
 *
 * @param options `to`: the path of the binary. `main`: another program to compile with the same permissions, for a test.
 * @returns The compiler's exit status and output.
 */
export async function compile(
  { to, main = "main.ts" }: { to: string; main?: string },
): Promise<{ code: number; output: string }> {
  const lock = `${root}deno.production.lock`;
  const isProgram = main === "main.ts";
  if (isProgram) await buildFiles();
  const args = [
    "compile",
    `--lock=${lock}`,
    "--frozen",
    // The runtime would read compiled code from a file in the temporary folder, which any user of the machine can write.
    "--no-code-cache",
    ...permissionFlags,
    // The compiler also runs with the program's flags of V8, which leave too little memory to check types.
    "--no-check",
    ...[...workers, ...(isProgram ? builtFiles : [])].map((path) => `--include=${path}`),
    ...(await unneededFiles(lock)).map((path) => `--exclude=${path}`),
    `--output=${to}`,
    main,
  ];
  const command = new Deno.Command(Deno.execPath(), {
    args,
    cwd: root,
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
  const { code, output } = await compile({ to: Deno.args[0] ?? "dist/gatehouse" });
  const text = code === 0 ? output : `${explainFailure(output)}\n`;
  Deno.stderr.writeSync(new TextEncoder().encode(text));
  Deno.exit(code);
}
