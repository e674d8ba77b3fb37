// Creates the lock file that the binary is bundled with. What isn't bundled is compiled with a part of it: `deno compile`
// embeds every package of its lock file and keeps it in memory. This one has only what the program imports, without types,
// native add-ons for musl, where the compiled runtime doesn't run, and libsql, which only the files of @libsql/client for
// data files load.

/** A lock file of version 5. */
export interface Lock {
  readonly version: string;
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<Record<string, LockedPackage>>;
  readonly workspace?: unknown;
}

interface LockedPackage {
  readonly integrity: string;
  readonly dependencies?: readonly string[];
  readonly optionalDependencies?: readonly string[];
  readonly [more: string]: unknown;
}

const isNeverLoaded = (name: string) =>
  /musl|^(@types\/(node|ws)|undici-types|libsql|openapi3-ts)(@|$)/.test(name);

/**
 * @param all The full lock file.
 * @param imports The imports of deno.json, which are all the program's.
 * @returns The part that the program needs.
 */
export function productionLock(all: Lock, imports: readonly string[]): Lock {
  const npm: Record<string, LockedPackage> = {};
  const visit = (id: string): void => {
    const found = all.npm[id];
    if (found === undefined || npm[id] !== undefined) return;
    const kept: Record<string, readonly string[]> = {};
    for (const field of ["dependencies", "optionalDependencies"] as const) {
      const names = found[field]?.filter((name) => !isNeverLoaded(name));
      if (names !== undefined && names.length > 0) kept[field] = names;
    }
    const { dependencies: _dependencies, optionalDependencies: _optional, ...rest } = found;
    npm[id] = { ...rest, ...kept };
    for (const name of Object.values(kept).flat()) visit(packageIdOf(all, name));
  };
  const specifiers = Object.fromEntries(
    Object.entries(all.specifiers).filter(([specifier]) => imports.includes(specifier)),
  );
  for (const [specifier, version] of Object.entries(specifiers)) {
    const name = specifier.slice("npm:".length, specifier.lastIndexOf("@"));
    if (isNeverLoaded(name)) delete specifiers[specifier];
    else visit(`${name}@${version}`);
  }
  const sorted = Object.fromEntries(Object.entries(npm).sort(([a], [b]) => a < b ? -1 : 1));
  return { version: all.version, specifiers, npm: sorted, workspace: all.workspace };
}

/** Lock files omit the version of a dependency when there is only one. */
export function packageIdOf(all: Lock, name: string): string {
  if (all.npm[name] !== undefined) return name;
  return Object.keys(all.npm).find((id) => id.slice(0, id.indexOf("@", 1)) === name) ?? name;
}

/** @returns The binary's lock file as it is and as it should be. */
export async function readLocks(): Promise<{ present: Lock; wanted: Lock }> {
  const read = async (name: string) =>
    JSON.parse(await Deno.readTextFile(new URL(`../../../${name}`, import.meta.url)));
  const { imports } = await read("deno.json") as { imports: Record<string, string> };
  return {
    present: await read("deno.production.lock"),
    wanted: productionLock(await read("deno.lock"), Object.values(imports)),
  };
}

if (import.meta.main) {
  const { wanted } = await readLocks();
  const path = new URL("../../../deno.production.lock", import.meta.url);
  await Deno.writeTextFile(path, `${JSON.stringify(wanted, null, 2)}\n`);
}
