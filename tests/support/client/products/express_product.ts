// Starts fastapi_product.py, and express_product.mjs and fastify_product.mjs in Node.js, with the packed client and the other packages from Deno's cache.
// deno-lint-ignore no-import-prefix
import type {} from "npm:express@5.3.0";
// deno-lint-ignore no-import-prefix
import type {} from "npm:express@4.22.3";
// deno-lint-ignore no-import-prefix
import type {} from "npm:fastify@5.12.8";
import { runLines } from "../../runner/guides.ts";
import { unpackClient } from "../package.ts";
import { python, pythonEnv } from "../python_meter.ts";
import type { Product, ProductSettings } from "./settings.ts";

/** The frameworks, as package names in the folder. */
export type ExpressVersion = "express" | "express4" | "fastify";

const dependencies = { express: "5.3.0", express4: "npm:express@4.22.3", fastify: "5.12.8" };

/** Creates a folder from which {@linkcode startExpressProduct} runs the product. */
export async function expressFolder(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-express-" });
  await Deno.writeTextFile(`${folder}/package.json`, JSON.stringify({ type: "module", dependencies }));
  await runLines(`'${Deno.execPath()}' install --quiet --node-modules-dir=auto`, { cwd: folder });
  for (const name of ["express_product.mjs", "fastify_product.mjs", "work.js"]) {
    await Deno.copyFile(new URL(name, import.meta.url), `${folder}/${name}`);
  }
  await unpackClient(folder);
  return folder;
}

/** Starts the product with a version of Express. @param folder From {@linkcode expressFolder}. */
export async function startExpressProduct(
  folder: string,
  { version, settings }: { version: ExpressVersion; settings: ProductSettings },
): Promise<Product> {
  const file = `${version === "fastify" ? "fastify" : "express"}_product.mjs`;
  return await started("node", { args: [file, version, JSON.stringify(settings)], cwd: folder });
}

/** Starts the product with FastAPI. */
export async function startFastApiProduct(settings: ProductSettings): Promise<Product> {
  const file = new URL("fastapi_product.py", import.meta.url).pathname;
  return await started(python, { args: [file, JSON.stringify(settings)], env: pythonEnv });
}

async function started(command: string, options: Deno.CommandOptions): Promise<Product> {
  const child = new Deno.Command(command, {
    ...options,
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
