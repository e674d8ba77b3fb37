// Runs many test files in one thread, because loading the app takes longer than most of them.

/** Folders whose tests run here. The task `test:parallel` ignores them. */
const folders = ["commands", "db", "domain", "routes", "services", "views"];
/** It counts the descriptors of the test process. The task `test:serial` runs it. */
const alone = "commands/serve/listen_test.ts";
/** The number of files in `tests/together/`: enough for several cores to finish at about the same time. */
const shares = 8;

const root = new URL("../../", import.meta.url);

/** Defines the tests of a share of the files. A file stays in its share when others are added. @param share From 1. */
export async function defineShare(share: number): Promise<void> {
  const paths = folders.flatMap((folder) => testFiles(`${folder}/`)).sort();
  for (const path of paths) {
    if (path !== alone && shareOf(path) === share) await import(new URL(path, root).href);
  }
}

/** Defines the tests of a folder, for which one browser is enough. */
export async function defineFolder(folder: string): Promise<void> {
  for (const path of testFiles(folder).sort()) await import(new URL(path, root).href);
}

function testFiles(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, root))].flatMap(({ name, isDirectory }) => {
    if (isDirectory) return testFiles(`${folder}${name}/`);
    return name.endsWith("_test.ts") ? [folder + name] : [];
  });
}

function shareOf(path: string): number {
  const sum = [...path].reduce(
    (sum, character) => (sum * 31 + (character.codePointAt(0) ?? 0)) % 65_521,
    0,
  );
  return 1 + sum % shares;
}
