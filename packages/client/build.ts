// Compiles the client with TypeScript's compiler and packs it as dist/gatehouse-client-VERSION.tgz.
// Run by `deno task client`. PACK_DESTINATION is another folder for the file.
// deno-lint-ignore no-import-prefix
import nodeTypes from "npm:@types/node@26.6.6/package.json" with { type: "json" };
// deno-lint-ignore no-import-prefix
import ts from "npm:typescript@5.9.3";
// deno-lint-ignore no-import-prefix
import undiciTypes from "npm:undici-types@8.9.0/package.json" with { type: "json" };
// Puts its types into the cache.
import "hono";
import settings from "../../deno.json" with { type: "json" };

const source = import.meta.dirname ?? "";
const root = `${source}/../..`;
const folder = Deno.env.get("PACK_DESTINATION") ?? `${root}/dist`;
/** The content of the package. */
const target = await Deno.makeTempDir({ prefix: "gatehouse-client-" });

/** Compiles src/. @throws {Error} With the compiler's messages. */
function compile(): void {
  // Of PACKAGES/typescript/VERSION/lib/typescript.js
  const packages = ts.sys.getExecutingFilePath().split("/").slice(0, -4).join("/");
  const files = ts.sys.readDirectory(`${source}/src`, [".ts"], ["**/*.d.ts"]);
  const hono = settings.imports.hono.replace("npm:hono@", "");
  const program = ts.createProgram([...files, `${packages}/@types/node/${nodeTypes.version}/index.d.ts`], {
    rootDir: `${source}/src`,
    outDir: `${target}/dist`,
    target: ts.ScriptTarget.ES2022,
    // That of the oldest supported Node.js; no globals of browsers.
    lib: ["lib.es2022.d.ts"],
    types: [],
    module: ts.ModuleKind.NodeNext,
    paths: {
      hono: [`${packages}/hono/${hono}/dist/types/index.d.ts`],
      "undici-types": [`${packages}/undici-types/${undiciTypes.version}`],
    },
    rewriteRelativeImportExtensions: true,
    declaration: true,
    noEmitOnError: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
  });
  const { diagnostics } = program.emit(undefined, writeCompiled);
  const messages = [...ts.getPreEmitDiagnostics(program), ...diagnostics];
  if (messages.length === 0) return;
  throw new Error(ts.formatDiagnostics(messages, {
    getCurrentDirectory: () => root,
    getCanonicalFileName: (name) => name,
    getNewLine: () => "\n",
  }));
}

/** Writes a compiled file: the compiler leaves `.ts` and `.d.ts` in the imports of declaration files. */
function writeCompiled(path: string, text: string): void {
  const isTypes = path.endsWith(".d.ts");
  ts.sys.writeFile(path, isTypes ? text.replace(/(from "\.[^"]+?)(\.d)?\.ts"/g, '$1.js"') : text);
}

async function npmPack(): Promise<void> {
  const { success } = await new Deno.Command("npm", {
    args: ["pack", "--pack-destination", folder],
    cwd: target,
    stdin: "null",
  }).spawn().status;
  if (!success) throw new Error("npm pack failed");
}

try {
  compile();
  const browserTypes = await Deno.readTextFile(`${source}/src/browser.d.ts`);
  // Importing any type of the package then types the import of /gatehouse.js, too.
  await Deno.writeTextFile(
    `${target}/dist/browser.d.ts`,
    `/// <reference path="./gatehouse_js.d.ts" />\n${browserTypes}`,
  );
  await Deno.copyFile(`${source}/src/gatehouse_js.d.ts`, `${target}/dist/gatehouse_js.d.ts`);
  for (const file of ["package.json", "README.md"]) {
    await Deno.copyFile(`${source}/${file}`, `${target}/${file}`);
  }
  await Deno.copyFile(`${root}/LICENSE`, `${target}/LICENSE`);
  await Deno.mkdir(folder, { recursive: true });
  await npmPack();
} finally {
  await Deno.remove(target, { recursive: true });
}
