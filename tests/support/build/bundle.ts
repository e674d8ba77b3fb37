// Bundles the program: what is compiled, and what tests run. A start then loads about a hundred files instead of 1,400.
// deno-lint-ignore no-import-prefix
import { build } from "npm:esbuild@0.28.2";
// deno-lint-ignore no-import-prefix
import { decode, encode } from "npm:@jridgewell/sourcemap-codec@1.5.5";
import { builtFiles, output, programFiles, root, workers } from "./sources.ts";

/** Loaded by its own name: it chooses the add-on of this machine. */
export const external = "@node-rs/argon2";

const flags = [
  "--unstable-raw-imports",
  "--platform=deno",
  "--code-splitting",
  "--sourcemap=linked",
  // The bundler loads the CommonJS file behind tslib's other module without its exports.
  "--conditions=module",
  `--external=${external}`,
  "--lock=deno.production.lock",
  "--frozen",
];

/**
 * Bundles `main.ts` and its threads, which share their modules.
 *
 * @param folder Where to write. Must not exist.
 * @returns The path of the program's entry point.
 * @throws With the bundler's output when it fails, or if a thread or file that a module names isn't in the bundle.
 */
export async function bundle(folder: string): Promise<string> {
  await output(Deno.execPath(), ["bundle", ...flags, `--outdir=${folder}`, ...programFiles], {
    env: { NO_COLOR: "1" },
  });
  const paths = [...filesIn(folder)].filter((path) => path.endsWith(".js"));
  const dropped = await Promise.all(paths.map(dropLocales));
  if (!dropped.includes(true)) throw new Error("no module of the bundle lists Zod's messages by language");
  await minify(paths, folder);
  await Promise.all(paths.map(mapLines));
  const placed = new Set<string>();
  for (const path of paths) await placeReferences(path, { folder, placed });
  const missing = [...workers.map(threadName), "dist/"].filter((name) => !placed.has(name));
  if (missing.length > 0) throw new Error(`no module of the bundle names ${missing.join(", ")}`);
  for (const file of workers) {
    await Deno.writeTextFile(`${folder}/${threadName(file)}`, `import "./${file.replace(/ts$/, "js")}";\n`);
  }
  await Deno.mkdir(`${folder}/dist`);
  for (const file of builtFiles) {
    await Deno.copyFile(root + file, `${folder}/${file}`).catch((error) => {
      // Tests run the program also if the client was never built.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }
  return `${folder}/main.js`;
}

/** Takes out the list of Zod's error messages in 40 languages, a third of what a thread loads first, so that minifying drops them. @returns True if the module had it. */
async function dropLocales(path: string): Promise<boolean> {
  const text = await Deno.readTextFile(path);
  const kept = text.replace(/^ *locales: \(\) => locales_exports,?\n/gm, "")
    .replace(/^__export\(locales_exports, \{[^}]*\}\);\n/gm, "");
  if (kept !== text) await Deno.writeTextFile(path, kept);
  return kept !== text;
}

/**
 * Makes modules smaller and keeps all names, so that stack traces have those of functions. Deno looks up their lines in the maps, which
 * have no source text. The bundler's own minification names functions when the program runs, which costs each closure a call.
 */
async function minify(paths: readonly string[], folder: string): Promise<void> {
  await build({
    ...{ entryPoints: [...paths], outdir: folder, outbase: folder, allowOverwrite: true },
    ...{ format: "esm", target: "esnext", minifyWhitespace: true, minifySyntax: true, treeShaking: true },
    ...{ sourcemap: "linked", sourcesContent: false, logLevel: "error" },
  });
}

/** Shortens a module's map to the first place of each line and to no names, because the binary keeps maps in memory. Stack traces keep their lines. */
async function mapLines(path: string): Promise<void> {
  const map = JSON.parse(await Deno.readTextFile(`${path}.map`)) as { mappings: string; names: string[] };
  const mappings = decode(map.mappings).map((segments) => {
    let last: readonly (number | undefined)[] = [];
    return segments.flatMap(([column, source, line, sourceColumn]) => {
      if (source === undefined || last[0] === source && last[1] === line) return [];
      last = [source, line];
      return [[column, source, line, sourceColumn] as [number, number, number, number]];
    });
  });
  await Deno.writeTextFile(`${path}.map`, JSON.stringify({ ...map, names: [], mappings: encode(mappings) }));
}

/** Lists all files in a folder and below, with their paths. */
export function* filesIn(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* filesIn(`${folder}/${name}`);
    else yield `${folder}/${name}`;
  }
}

/** Names the file in the bundle's own folder that starts a thread. */
function threadName(file: string): string {
  return file.replace(/^.*\//, "").replace(/ts$/, "js");
}

/**
 * Lets a module find threads and what was built before, because it is now in another folder. Its text keeps its length, so
 * that the map of its lines and columns stays true.
 */
async function placeReferences(
  path: string,
  { folder, placed }: { folder: string; placed: Set<string> },
): Promise<void> {
  const text = await Deno.readTextFile(path);
  const up = "../".repeat(path.slice(folder.length + 1).split("/").length - 1) || "./";
  const replaced = text.replace(
    /new URL\(\s*(["`'])([./]*)([^"`']+)\1,\s*import\.meta\.url\s*\)/g,
    (whole, quote, _up, name) => {
      const thread = workers.find((file) => `/${file}`.endsWith(`/${name}`));
      const target = name.startsWith("dist/") ? name : thread && threadName(thread);
      if (target === undefined) throw new Error(`${path} names ${name}, which the bundle lacks`);
      placed.add(thread ? target : "dist/");
      const reference = `new URL(${quote}${up}${target}${quote},import.meta.url`;
      if (reference.length >= whole.length) throw new Error(`${path}: ${reference}) is too long`);
      return `${reference.padEnd(whole.length - 1)})`;
    },
  );
  if (replaced !== text) await Deno.writeTextFile(path, replaced);
}
