// The files of the repository as texts, and source code with its comments and strings told apart: what every rule
// of style reads. It is a scanner by eye, not a parser: enough for formatted code.

/** One file: its path from the repository's root, with slashes, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** One breach of a rule. Lines count from 1. */
export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** Source code without what is not code. Positions are those of the text it was made of. */
export interface ScannedSource {
  /** The text with comments and the insides of strings and regular expressions replaced by blanks. */
  readonly code: string;
  /** Comments, with their marks. */
  readonly comments: readonly { readonly text: string; readonly index: number }[];
  /** String literals; of a template, the part before its first `${`. */
  readonly strings: readonly { readonly text: string; readonly index: number }[];
}

/** @returns The number of the line that holds a position of the text. */
export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

/** @returns One line per finding, as `path:line: message`, ready for an assertion's message. */
export function report(findings: readonly Finding[]): string {
  return findings.map((finding) => `\n  ${finding.path}:${finding.line}: ${finding.message}`).join("");
}

/** @returns Whether a file is TypeScript of ours. */
export function isTypeScript(path: string): boolean {
  return /\.tsx?$/.test(path);
}

/** @returns Whether a file is part of the program, and not of its tests, measurements, examples or documentation. */
export function isProduction(path: string): boolean {
  return isTypeScript(path) && !/^(tests|smoke|bench|docs|examples)\//.test(path);
}

const tokens = {
  comment: /\/\/[^\n]*|\/\*[\s\S]*?\*\//y,
  string: /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/y,
  regularExpression: /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y,
  quasi: /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y,
};
/** Where a slash begins a regular expression and does not divide. */
const beforeRegularExpression = /(?:[=(,:[!&|?;{]|=>|\breturn)\s*$/;

/** Tells code from comments and strings. */
export function scan(text: string): ScannedSource {
  const comments: { text: string; index: number }[] = [];
  const strings: { text: string; index: number }[] = [];
  const kept = text.split("");
  /** For every template that is open: how many braces are open in its `${`. */
  const templates: number[] = [];
  const blank = (from: number, to: number): void => {
    for (let i = from; i < to; i++) if (kept[i] !== "\n") kept[i] = " ";
  };
  const match = (pattern: RegExp, at: number): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  const quasi = (at: number, isFirst: boolean): number => {
    const inside = match(tokens.quasi, at) ?? "";
    if (isFirst) strings.push({ text: inside, index: at });
    const end = at + inside.length;
    blank(at, end);
    if (text[end] === "$") {
      templates.push(0);
      return end + 2;
    }
    return end + 1;
  };
  for (let at = 0; at < text.length;) {
    const comment = match(tokens.comment, at);
    const string = match(tokens.string, at);
    const character = text[at];
    const open = templates.length - 1;
    if (comment !== undefined) {
      comments.push({ text: comment, index: at });
      blank(at, at + comment.length);
      at += comment.length;
    } else if (string !== undefined) {
      strings.push({ text: string.slice(1, -1), index: at + 1 });
      blank(at + 1, at + string.length - 1);
      at += string.length;
    } else if (character === "`") {
      at = quasi(at + 1, true);
    } else if (character === "}" && templates[open] === 0) {
      templates.pop();
      at = quasi(at + 1, false);
    } else if (
      character === "/" && beforeRegularExpression.test(kept.slice(Math.max(0, at - 20), at).join(""))
    ) {
      const expression = match(tokens.regularExpression, at) ?? "/";
      blank(at + 1, at + expression.length);
      at += expression.length;
    } else {
      if (open >= 0 && (character === "{" || character === "}")) {
        templates[open] = (templates[open] ?? 0) + (character === "{" ? 1 : -1);
      }
      at++;
    }
  }
  return { code: kept.join(""), comments, strings };
}

/**
 * Reads the repository's text files, tracked or not, without what `.gitignore` names.
 *
 * @param root The repository's folder.
 * @returns The files in the order of their paths; files with a NUL are not text and left out.
 */
export async function readTree(root: URL): Promise<SourceFile[]> {
  const ignored = (await Deno.readTextFile(new URL(".gitignore", root))).split("\n").map((line) =>
    line.trim()
  );
  const isIgnored = (path: string): boolean =>
    path === ".git" ||
    ignored.some((line) =>
      line.startsWith("*") ? path.endsWith(line.slice(1)) : line.replaceAll(/^\/|\/$/g, "") === path
    );
  const files: SourceFile[] = [];
  const visit = async (folder: string): Promise<void> => {
    for await (const entry of Deno.readDir(new URL(`./${folder}`, root))) {
      const path = `${folder}${entry.name}`;
      if (isIgnored(path)) continue;
      if (entry.isDirectory) await visit(`${path}/`);
      if (!entry.isFile) continue;
      const text = await Deno.readTextFile(new URL(path, root));
      if (!text.includes("\0")) files.push({ path, text });
    }
  };
  await visit("");
  return files.sort((a, b) => a.path < b.path ? -1 : 1);
}
