// Starts express_product.mjs in Node.js, with the client's code without types and the packages from Deno's cache.
// deno-lint-ignore no-import-prefix
import type {} from "npm:express@5.3.0";
// deno-lint-ignore no-import-prefix
import type {} from "npm:express@4.22.3";
// deno-lint-ignore no-import-prefix
import ts from "npm:typescript@5.9.3";
import type { Product, ProductSettings } from "./settings.ts";

/** The versions of Express, as package names in the folder. */
export type ExpressVersion = "express" | "express4";

const dependencies = { express: "5.3.0", express4: "npm:express@4.22.3" };
const client = new URL("../../../../packages/client/src/", import.meta.url);

/** Creates a folder from which {@linkcode startExpressProduct} runs the product. */
export async function expressFolder(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-express-" });
  await Deno.writeTextFile(`${folder}/package.json`, JSON.stringify({ type: "module", dependencies }));
  const install = new Deno.Command(Deno.execPath(), {
    args: ["install", "--quiet", "--node-modules-dir=auto"],
    cwd: folder,
  });
  const { success, stderr } = await install.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  await Deno.copyFile(new URL("express_product.mjs", import.meta.url), `${folder}/product.mjs`);
  await compileFolder(client, `${folder}/client`);
  return folder;
}

async function compileFolder(source: URL, target: string): Promise<void> {
  await Deno.mkdir(target);
  for await (const { name, isDirectory } of Deno.readDir(source)) {
    if (isDirectory) await compileFolder(new URL(`${name}/`, source), `${target}/${name}`);
    else if (!name.endsWith(".d.ts")) {
      const { outputText } = ts.transpileModule(await Deno.readTextFile(new URL(name, source)), {
        compilerOptions: {
          target: ts.ScriptTarget.ES2022,
          module: ts.ModuleKind.ESNext,
          rewriteRelativeImportExtensions: true,
        },
      });
      await Deno.writeTextFile(`${target}/${name.replace(/\.ts$/, ".js")}`, outputText);
    }
  }
}

/** Starts the product with a version of Express. @param folder From {@linkcode expressFolder}. */
export async function startExpressProduct(
  folder: string,
  { version, settings }: { version: ExpressVersion; settings: ProductSettings },
): Promise<Product> {
  const child = new Deno.Command("node", {
    args: ["product.mjs", version, JSON.stringify(settings)],
    cwd: folder,
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value: port = "" } = await reader.read();
  return {
    url: `http://127.0.0.1:${port.trim()}`,
    async stop() {
      await child.stdin.close();
      await child.status;
      await reader.cancel();
    },
  };
}
