// The rules on imports: which layer may import which, no circles, and no web framework below the routes.
import {
  type Finding,
  findingAt,
  nodeRule,
  nodesOf,
  program,
  type Rules,
  type SourceFile,
  ts,
} from "./source.ts";

/** What each layer may import, from the top down. `deno.json` is data, such as the version. */
const mayImport: Readonly<Record<string, string>> = {
  "main.ts": "commands/ hot_app.ts app.ts routes/ services/ views/ db/ domain/ config.ts deno.json",
  "commands/": "commands/ hot_app.ts app.ts routes/ services/ views/ db/ domain/ config.ts deno.json",
  "hot_app.ts": "app.ts routes/ services/ views/ db/ domain/ config.ts deno.json",
  "app.ts": "routes/ services/ views/ db/ domain/ config.ts deno.json",
  "routes/": "routes/ services/ views/ db/ domain/ config.ts static/ docs/ examples/ packages/ deno.json",
  "services/": "services/ db/ domain/ config.ts deno.json",
  "views/": "views/ domain/",
  "db/": "db/ domain/ config.ts",
  "domain/": "domain/",
  "config.ts": "domain/",
  "static/": "static/",
  "packages/": "packages/ deno.json",
};

const layerOf = (path: string): string => /^[^/]+\/?/.exec(path)?.[0] ?? "";

export const importRules: Rules = {
  "imports go down the layers, never up": nodeRule(program, (node, { path }) => {
    const layer = layerOf(path);
    const allowed = mayImport[layer];
    if (allowed === undefined) return ts.isSourceFile(node) ? "is in no layer" : null;
    const target = targetOf(node, path);
    const isAllowed = target === null || allowed.split(" ").includes(layerOf(target));
    return isAllowed ? null : `imports ${target} (${layer} may import ${allowed})`;
  }),
  "services, queries and the domain do not use Hono": nodeRule(/^(services|db|domain)\/.*\.tsx?$/, (node) => {
    const specifier = specifierOf(node) ?? "";
    return /^(npm:)?(@hono\/|hono(\/|@|$))/.test(specifier) ? `imports ${specifier}` : null;
  }),
  // Hono's types are those of an optional peer.
  "the client has no dependencies": nodeRule(/^packages\/client\/src\//, (node) => {
    const specifier = specifierOf(node) ?? "./";
    const isOwn = /^(\.{1,2}\/|node:)/.test(specifier) || node.getSourceFile().fileName.endsWith(".d.ts");
    const isType = ts.isImportDeclaration(node) && node.importClause?.isTypeOnly === true &&
      specifier === "hono";
    return isOwn || isType ? null : `imports ${specifier}`;
  }),
  "no import closes a circle": importCircles,
};

function importCircles(files: readonly SourceFile[]): Finding[] {
  const byPath = new Map(files.filter(({ path }) => /\.tsx?$/.test(path)).map((file) => [file.path, file]));
  const findings: Finding[] = [];
  const done = new Set<SourceFile>();
  const visit = (file: SourceFile, above: readonly string[]): void => {
    const trail = [...above, file.path];
    for (const node of nodesOf(file)) {
      const next = isOfTypes(node) ? undefined : byPath.get(targetOf(node, file.path) ?? "");
      if (next === undefined || done.has(next)) continue;
      const circle = [...trail.slice(trail.indexOf(next.path)), next.path];
      if (!trail.includes(next.path)) visit(next, trail);
      else findings.push(findingAt(file, node.getStart(), `closes a circle: ${circle.join(" → ")}`));
    }
    done.add(file);
  };
  for (const file of byPath.values()) if (!done.has(file)) visit(file, []);
  return findings;
}

/** Types exist before anything runs, so that `services/context.ts` can name those of all parts. */
const isOfTypes = (node: ts.Node) =>
  (ts.isImportDeclaration(node) && node.importClause?.isTypeOnly === true) ||
  (ts.isExportDeclaration(node) && node.isTypeOnly);

/** @returns The path of the file that a node imports, or null when it imports a package or is no import. */
export function targetOf(node: ts.Node, path: string): string | null {
  const specifier = specifierOf(node) ?? "";
  if (!/^\.{1,2}\//.test(specifier)) return null;
  return decodeURI(new URL(specifier, `file:///${path}`).pathname).slice(1);
}

/** @returns What a node imports: statically, as a type, dynamically, or as a worker by its URL. */
function specifierOf(node: ts.Node): string | undefined {
  let name: ts.Node | undefined;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) name = node.moduleSpecifier;
  else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) name = node.argument.literal;
  else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    [name] = node.arguments;
  } else if (ts.isNewExpression(node) && node.arguments?.[1]?.getText() === "import.meta.url") {
    [name] = node.arguments;
  }
  return name !== undefined && ts.isStringLiteralLike(name) ? name.text : undefined;
}
