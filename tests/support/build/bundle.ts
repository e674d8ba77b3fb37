// Bundles the program, so that a start loads about a hundred files instead of 1,400.
import { output, programFiles, root } from "./sources.ts";

/** Loaded by its own name: it chooses the add-on of this machine. */
const external = "@node-rs/argon2";

/**
 * Bundles `main.ts` and its threads, which share their modules.
 *
 * @param folder Where to write. Must not exist.
 * @returns The path of the program's entry point.
 * @throws With the bundler's output when it fails.
 */
export async function bundle(folder: string): Promise<string> {
  const flags = ["--unstable-raw-imports", "--platform=deno", "--code-splitting", `--external=${external}`];
  const args = ["bundle", ...flags, `--outdir=${folder}`, ...programFiles];
  await output(Deno.execPath(), args, { env: { NO_COLOR: "1" } });
  for (const { name, isFile } of Deno.readDirSync(folder)) {
    if (isFile) await placeReferences(`${folder}/${name}`);
  }
  return `${folder}/main.js`;
}

/** Lets a module find threads and what was built before, because the modules that name them are in the bundle's own folder. */
async function placeReferences(path: string): Promise<void> {
  const text = await Deno.readTextFile(path);
  const placed = text.replaceAll(
    /new URL\((["`])([./]*)([^"`]+)\1,\s*import\.meta\.url\)/g,
    (whole, quote, up, name) => {
      if (name.startsWith("dist/")) {
        return `new URL(${quote}${name}${quote}, ${JSON.stringify(`file://${root}`)})`;
      }
      const file = programFiles.find((file) => up !== "" && `/${file}`.endsWith(`/${name}`));
      if (file === undefined) return whole;
      return `new URL("./${file.replace(/ts$/, "js")}", import.meta.url)`;
    },
  );
  if (placed !== text) await Deno.writeTextFile(path, placed);
}
