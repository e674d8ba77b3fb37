// Which test files run, and in which threads.
import { filesBelow, root } from "../build/sources.ts";

/** The kinds of files that run together, those first that take longest, and in how many threads. */
const kinds: readonly { readonly files: RegExp; readonly threads: number }[] = [
  // They share a browser.
  { files: /^tests\/browser\//, threads: 1 },
  {
    files: /^tests\/((process|guides|client|clients|python_client|packaging)\/|readme_test\.ts$)/,
    threads: 6,
  },
  { files: /^/, threads: 6 },
];
const kindOf = (file: string) => kinds.findIndex(({ files }) => files.test(file));
const aloneFiles = /^tests\/(process\/alone\/|commands\/serve\/listen_test\.ts$)/;
/** They depend most on the runtime. */
const newestFiles =
  /^tests\/(db\/|process\/((backup|data_file|full_disk|retention|serve|kill|kill_instances|remote_faults)_test\.ts$|alone\/held_lock))/;

/** True for tests that load the whole machine, measure time, or count the descriptors of the test process. */
export const alone = (file: string): boolean => aloneFiles.test(file);
/** True for tests that start the program or other processes, and mostly wait. */
export const startsProcesses = (file: string): boolean => kindOf(file) < kinds.length - 1;
/** True for tests that a full run repeats on the newest tested Deno. */
export const byNewestDeno = (file: string): boolean => newestFiles.test(file);

/** @param subjects Names of folders, beginnings of file names, or paths; none for all. @returns Paths from the root, sorted. */
export function testFiles(subjects: readonly string[]): string[] {
  const isWanted = (file: string) =>
    subjects.length === 0 ||
    subjects.some((subject) =>
      file.startsWith(subject) || file.includes(`/${subject}/`) || file.includes(`/${subject}_`)
    );
  return filesBelow("tests/").filter((file) => file.endsWith("_test.ts") && isWanted(file)).sort();
}

/**
 * Writes modules that import many test files each, because loading the app takes longer than most tests. The files of a share must
 * not change anything that other files see, such as `globalThis` or the environment. They are loaded one after another: Deno 2.7 panics
 * or hangs when it loads Express together with a module that has `await` at its top level.
 *
 * @returns The paths of the modules, those that take longest first.
 */
export async function sharesOf(files: readonly string[], folder: string): Promise<string[]> {
  const shares = await Promise.all(
    kinds.map(({ threads }, kind) => divide(files.filter((file) => kindOf(file) === kind), threads)),
  );
  return await Promise.all(
    shares.flat().map(async (share, index) => {
      const path = `${folder}/share_${index + 1}_test.ts`;
      await Deno.writeTextFile(
        path,
        share.map((file) => `await import("file://${root}${file}");\n`).join(""),
      );
      return path;
    }),
  );
}

/** Divides files into shares of about as many bytes, because longer files take longer. */
async function divide(files: readonly string[], count: number): Promise<string[][]> {
  const sizes = await Promise.all(
    files.map(async (file) => ({ file, size: (await Deno.stat(root + file)).size })),
  );
  const shares = Array.from({ length: count }, () => ({ size: 0, files: [] as string[] }));
  for (const { file, size } of sizes.sort((a, b) => b.size - a.size)) {
    const smallest = shares.reduce((least, share) => share.size < least.size ? share : least);
    smallest.size += size;
    smallest.files.push(file);
  }
  return shares.map(({ files }) => files.sort()).filter((files) => files.length > 0);
}
