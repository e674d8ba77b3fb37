// Rule on documents for people who build on Gatehouse: every code block in them is run by a test, or says that it is not.
import { codeBlocks } from "../support/guides.ts";
import type { Finding, SourceFile } from "./source.ts";

const folders = /^docs\/(guides|recipes)\/.*\.md$/;

/**
 * Rule: above every fenced block of a guide or a recipe stands `<!-- run by TEST: NAME -->`, where TEST is a test that
 * mentions the document and the name, or `<!-- not run: REASON -->`. Where a test takes all blocks of a language, the name
 * is left out, and the test may mention the folder alone.
 */
export function blocksAreRun(files: readonly SourceFile[]): Finding[] {
  const tests = new Map(
    files.filter(({ path }) => path.startsWith("tests/")).map(({ path, text }) => [path, text]),
  );
  return files.filter(({ path }) => folders.test(path)).flatMap(({ path, text }) => {
    const names = new Set<string>();
    return codeBlocks(text).flatMap(({ line, language, mark }): Finding[] => {
      const finding = (message: string): Finding[] => [{ path, line, message }];
      if (mark !== null && /^not run: \S/.test(mark)) return [];
      const [, test, name] = /^run by (\S+?)(?:: (.+))?$/.exec(mark ?? "") ?? [];
      if (test === undefined) {
        return finding(
          `a block of ${
            language || "no language"
          } says neither <!-- run by TEST: NAME --> nor <!-- not run: REASON -->`,
        );
      }
      const source = tests.get(test);
      if (source === undefined || !test.endsWith("_test.ts")) return finding(`there is no test ${test}`);
      const folderEnd = path.lastIndexOf("/") + 1;
      const isRead = source.includes(path.slice(folderEnd)) ||
        (name === undefined && source.includes(path.slice(0, folderEnd)));
      if (!isRead) return finding(`${test} does not read it`);
      if (name === undefined) return [];
      if (names.has(name)) return finding(`${name} is the name of two blocks`);
      names.add(name);
      return source.includes(`"${name}"`) ? [] : finding(`${test} does not run ${name}`);
    });
  });
}
