// Starts oidc_provider.mjs in Node.js, with the packages of deno.lock from Deno's cache.
// deno-lint-ignore no-import-prefix
import type {} from "npm:oidc-provider@9.13.3";
import { randomUUID } from "node:crypto";
import { productionLock } from "../build/production_lock.ts";
import { freePort } from "../database/sqld.ts";
import { isMissing } from "../runner/needs.ts";

const [name, version] = ["oidc-provider", "9.13.3"];
const root = new URL("../../../", import.meta.url);

/** @returns True if Node.js is missing or too old for the package. @throws If it is missing and `CI=true`. */
export function oidcProviderMissing(): boolean {
  if (isMissing("node")) return true;
  const { stdout } = new Deno.Command("node", { args: ["-p", "process.versions.node"] }).outputSync();
  return Number.parseInt(new TextDecoder().decode(stdout)) < 20;
}

/** A running provider. */
export interface OidcProvider {
  /** Its issuer identifier. */
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Signs with a new key from now on, and still publishes the old ones. */
  rotateKey(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a provider. @param options `host`: the host name that browsers use. */
export async function startOidcProvider(
  { host = "127.0.0.1", redirectUris }: {
    host?: string;
    redirectUris: readonly string[];
  },
): Promise<OidcProvider> {
  const folder = await installed();
  const settings = {
    ...{ host, redirectUris },
    port: freePort(),
    clientId: "gatehouse",
    clientSecret: randomUUID(),
  };
  const child = new Deno.Command("node", {
    args: ["provider.mjs", name, JSON.stringify(settings)],
    cwd: folder,
    stdin: "piped",
    stdout: "piped",
    // It warns about each default that is for development only.
    stderr: "null",
  }).spawn();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  // It also writes a line about each default that it uses.
  const line = async (expected: string) => {
    for (let at = -1; at === -1; at = text.indexOf(`${expected}\n`)) {
      const { value } = await output.read();
      if (value === undefined) throw new Error(`${name} ended: ${text}`);
      text += value;
    }
    text = "";
  };
  await line("ready");
  const input = child.stdin.getWriter();
  return {
    url: `http://${host}:${settings.port}`,
    clientId: settings.clientId,
    clientSecret: settings.clientSecret,
    async rotateKey() {
      await input.write(new TextEncoder().encode("\n"));
      await line("rotated");
    },
    async stop() {
      await input.close();
      await child.status;
      await output.cancel();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Creates a folder with the program and its packages. */
async function installed(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-oidc-provider-" });
  const specifier = `npm:${name}@${version}`;
  const all = JSON.parse(await Deno.readTextFile(new URL("deno.lock", root)));
  const lock = {
    ...productionLock(all, [specifier]),
    workspace: { packageJson: { dependencies: [specifier] } },
  };
  const files = { "deno.lock": lock, "package.json": { type: "module", dependencies: { [name]: version } } };
  for (const [file, content] of Object.entries(files)) {
    await Deno.writeTextFile(`${folder}/${file}`, JSON.stringify(content));
  }
  await Deno.copyFile(new URL("oidc_provider.mjs", import.meta.url), `${folder}/provider.mjs`);
  const install = new Deno.Command(Deno.execPath(), {
    args: ["install", "--quiet", "--frozen", "--node-modules-dir=auto"],
    cwd: folder,
  });
  const { success, stderr } = await install.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return folder;
}
