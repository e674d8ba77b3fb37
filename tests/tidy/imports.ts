// The import arrows of the house, and its circles. What may import what is written once, here, as docs/ tells it.
import { type Finding, isTypeScript, lineAt, scan, type SourceFile } from "./source.ts";

/** One import line: what it names and, for a file of ours, which. */
export interface ImportLine {
  readonly specifier: string;
  /** The path from the repository's root, or null for a package. */
  readonly target: string | null;
  readonly line: number;
}

type Layer =
  | "main.ts"
  | "commands/"
  | "app.ts"
  | "routes/"
  | "services/"
  | "views/"
  | "db/"
  | "domain/"
  | "config.ts"
  | "static/"
  | "deno.json";

/** From the top of the house to the ground. `deno.json` is data: the version and the like. */
const mayImport: Readonly<Record<Layer, readonly Layer[]>> = {
  "main.ts": [
    "commands/",
    "app.ts",
    "routes/",
    "services/",
    "views/",
    "db/",
    "domain/",
    "config.ts",
    "deno.json",
  ],
  "commands/": [
    "commands/",
    "app.ts",
    "routes/",
    "services/",
    "views/",
    "db/",
    "domain/",
    "config.ts",
    "deno.json",
  ],
  "app.ts": ["routes/", "services/", "views/", "db/", "domain/", "config.ts", "deno.json"],
  "routes/": ["routes/", "services/", "views/", "db/", "domain/", "config.ts", "static/", "deno.json"],
  "services/": ["services/", "views/", "db/", "domain/", "config.ts", "deno.json"],
  "views/": ["views/", "domain/"],
  "db/": ["db/", "domain/", "config.ts"],
  "domain/": ["domain/"],
  "config.ts": [],
  "static/": ["static/"],
  "deno.json": [],
};
/** Folders that nothing of the program may import, and that may import everything. */
const outside = /^(tests|smoke|bench|docs|examples)\//;
const importForms = [
  /^[ \t]*(?:import|export)\s[^;="`]*?\bfrom\s*"([^"]*)"/gm,
  /^[ \t]*import\s*"([^"]*)"/gm,
  /\bimport\(\s*"([^"]*)"/g,
  // Another file that is loaded by its address: a worker.
  /\bnew URL\(\s*"([^"]*)",\s*import\.meta\.url/g,
];

/** @returns Every import of a file: type-only, dynamic and worker ones included. */
export function importsOf(file: SourceFile): ImportLine[] {
  const { code } = scan(file.text);
  const found: (ImportLine & { index: number })[] = [];
  for (const form of importForms) {
    for (const match of code.matchAll(form)) {
      const blank = match[1] ?? "";
      // In the scanned code strings are blank: the specifier stands at the same place of the text.
      const index = match.index + match[0].lastIndexOf(`"${blank}"`) + 1;
      const specifier = file.text.slice(index, index + blank.length);
      const target = /^\.{1,2}\//.test(specifier) ? resolve(file.path, specifier) : null;
      found.push({ specifier, target, line: lineAt(file.text, index), index });
    }
  }
  return found.sort((a, b) => a.index - b.index).map(({ specifier, target, line }) => ({
    specifier,
    target,
    line,
  }));
}

/** Rule: imports go down the house, never up; nothing of the program imports its tests. */
export function importArrows(files: readonly SourceFile[]): Finding[] {
  return files.filter((file) => isTypeScript(file.path) && !outside.test(file.path)).flatMap((file) => {
    const layer = layerOf(file.path);
    if (layer === null) {
      return [{ path: file.path, line: 1, message: "has no place in the house: no layer has this name" }];
    }
    return importsOf(file).flatMap(({ target, line }) => {
      if (target === null) return [];
      const below = layerOf(target);
      if (below !== null && mayImport[layer].includes(below)) return [];
      const allowed = mayImport[layer].join(", ") || "no file of ours";
      return [{ path: file.path, line, message: `imports ${target}; ${layer} may import ${allowed}` }];
    });
  });
}

/** Rule: the web framework stays in routes/ and views/; below, nobody knows of HTTP. */
export function frameworkImports(files: readonly SourceFile[]): Finding[] {
  return files.filter((file) => isTypeScript(file.path) && /^(services|db|domain)\//.test(file.path)).flatMap(
    (file) =>
      importsOf(file).filter(({ specifier }) => /^(npm:)?(@hono\/|hono(\/|@|$))/.test(specifier)).map((
        { specifier, line },
      ) => ({
        path: file.path,
        line,
        message: `imports ${specifier}; services/, db/ and domain/ know nothing of Hono`,
      })),
  );
}

/** Rule: no file imports itself by way of others, not even for a type. */
export function importCircles(files: readonly SourceFile[]): Finding[] {
  const imports = new Map(
    files.filter((file) => isTypeScript(file.path)).map((file) => [file.path, importsOf(file)]),
  );
  const findings: Finding[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const here = [...trail, path];
    for (const { target, line } of imports.get(path) ?? []) {
      if (target === null || !imports.has(target) || done.has(target)) continue;
      const start = here.indexOf(target);
      if (start >= 0) {
        findings.push({
          path,
          line,
          message: `closes a circle: ${[...here.slice(start), target].join(" → ")}`,
        });
      } else visit(target, here);
    }
    done.add(path);
  };
  for (const path of imports.keys()) if (!done.has(path)) visit(path, []);
  return findings;
}

function layerOf(path: string): Layer | null {
  const name = path.includes("/") ? path.slice(0, path.indexOf("/") + 1) : path;
  return Object.hasOwn(mayImport, name) ? name as Layer : null;
}

function resolve(from: string, specifier: string): string {
  const url = new URL(specifier, `file:///house/${from}`);
  return decodeURI(url.pathname).replace(/^\/(house\/)?/, "");
}
