// Compiles the client with TypeScript's compiler and packs it as dist/gatehouse-client-VERSION.tgz.
// Run by `deno task client`. PACK_DESTINATION is another folder for the file. The same sources result in the same bytes.
import { Buffer } from "node:buffer";
import { writeFile } from "node:fs/promises";
import { createGzip } from "node:zlib";
// deno-lint-ignore no-import-prefix
import nodeTypes from "npm:@types/node@26.6.6/package.json" with { type: "json" };
// deno-lint-ignore no-import-prefix
import { pack as packTar } from "npm:tar-stream@3.2.2";
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
/** The folder of the package's content. */
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

/** Packs the files as npm does, all of them with the time that npm uses. */
async function pack(file: string): Promise<void> {
  const tar = packTar();
  const packed = writeFile(file, tar.pipe(createGzip({ level: 9 })));
  for (const path of ts.sys.readDirectory(target).sort()) {
    const name = `package${path.slice(target.length)}`;
    tar.entry(
      { name, mode: 0o644, mtime: new Date("1985-10-26T08:15:00Z") },
      Buffer.from(await Deno.readFile(path)),
    );
  }
  tar.finalize();
  await packed;
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
  const file = `${folder}/gatehouse-client-${settings.version}.tgz`;
  await pack(file);
  Deno.stdout.writeSync(new TextEncoder().encode(`${file}\n`));
} finally {
  await Deno.remove(target, { recursive: true });
}
