// The files of the repository as the rules read them: as text, and as syntax from the TypeScript compiler.
// deno-lint-ignore no-import-prefix
import ts from "npm:typescript@5.9.3";

export { ts };

/** One file: its path from the repository's root, with slashes, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** One violation of a rule. Lines count from 1. */
export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

export type Rule = (files: readonly SourceFile[]) => Finding[];

export type Rules = Readonly<Record<string, Rule>>;

/** The program: TypeScript that is not of its tests, benchmarks, examples or documentation. */
export const program = /^(?!(tests|smoke|bench|docs|examples)\/).*\.tsx?$/;

/** @returns A finding at a position in a file's text. */
export function findingAt(file: SourceFile, position: number, message: string): Finding {
  return { path: file.path, line: file.text.slice(0, position).split("\n").length, message };
}

const parsed = new WeakMap<SourceFile, readonly ts.Node[]>();

/** @returns Every node of a file's syntax, parents before children. Comments are not nodes. */
export function nodesOf(file: SourceFile): readonly ts.Node[] {
  const known = parsed.get(file);
  if (known !== undefined) return known;
  const nodes: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    nodes.push(node);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file.path, file.text, ts.ScriptTarget.Latest, true));
  parsed.set(file, nodes);
  return nodes;
}

/** @returns The rule that no node of the files with certain paths has a fault. */
export function nodeRule(paths: RegExp, fault: (node: ts.Node, file: SourceFile) => string | null): Rule {
  return (files) =>
    files.filter(({ path }) => paths.test(path)).flatMap((file) =>
      nodesOf(file).flatMap((node) => {
        const message = fault(node, file);
        return message === null ? [] : [findingAt(file, node.getStart(), message)];
      })
    );
}

/** @returns The repository's text files, tracked or not, except those that `.gitignore` names. */
export async function readTree(root: URL): Promise<SourceFile[]> {
  const ignored = (await Deno.readTextFile(new URL(".gitignore", root))).split("\n");
  const isIgnored = (path: string) =>
    path === ".git" ||
    ignored.some((line) => line.startsWith("*") ? path.endsWith(line.slice(1)) : line === `/${path}/`);
  const files: SourceFile[] = [];
  const visit = async (folder: string): Promise<void> => {
    for await (const { name, isDirectory, isFile } of Deno.readDir(new URL(`./${folder}`, root))) {
      const path = folder + name;
      if (isIgnored(path)) continue;
      if (isDirectory) await visit(`${path}/`);
      const text = isFile ? await Deno.readTextFile(new URL(path, root)) : "\0";
      if (!text.includes("\0")) files.push({ path, text });
    }
  };
  await visit("");
  return files;
}
