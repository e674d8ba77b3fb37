// Variants of deno.json, to run the program with.

const root = new URL("../../../", import.meta.url);

/** Writes a variant of deno.json into a folder, with its own lock file. @returns Its path. */
export async function writeConfig(
  folder: string,
  changes: Readonly<Record<string, unknown>>,
): Promise<string> {
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
  const path = `${folder}/deno.json`;
  const lock = { path: `${folder}/deno.lock`, frozen: false };
  await Deno.copyFile(new URL("deno.lock", root), lock.path);
  await Deno.writeTextFile(path, JSON.stringify({ ...config, lock, ...changes }));
  return path;
}

export type ReplacedModules = {
  readonly scopes: Readonly<Record<string, Readonly<Record<string, string>>>>;
};

/** @returns A change of deno.json: when `importer` imports `module`, it gets `replacement`. All are paths in the repository. */
export function replaceModule(
  { importer, module, replacement }: { importer: string; module: string; replacement: string },
): ReplacedModules {
  const url = (path: string) => new URL(path, root).href;
  return { scopes: { [url(importer)]: { [url(module)]: url(replacement) } } };
}

/** @returns A change of deno.json with several replacements. */
export function replaceModules(...all: readonly Parameters<typeof replaceModule>[0][]): ReplacedModules {
  return { scopes: Object.assign({}, ...all.map((one) => replaceModule(one).scopes)) };
}

/** @returns A change of deno.json: the importer gets the shorter waits of short_waits.ts. */
export function shortenWaits(importer: string): ReplacedModules {
  return replaceModule({
    importer,
    module: "domain/limits.ts",
    replacement: "tests/support/process/short_waits.ts",
  });
}
