// Runs the checks of @modelcontextprotocol/conformance for authorization servers. Only this version has them.
import { npm } from "../client/package.ts";

const version = "0.2.0-alpha.12";

/** A check of the package. `status`: SUCCESS, FAILURE, WARNING, or SKIPPED. */
export interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/**
 * Runs all authorization scenarios. They need Node 22, so that they run with Deno.
 *
 * @param open Opens an address in a browser. @returns Where the browser is sent back to.
 */
export async function checkAuthorizationServer(
  { args, open }: { args: readonly string[]; open: (address: string) => Promise<string> },
): Promise<readonly Check[]> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-mcp-conformance-" });
  try {
    await Deno.writeTextFile(`${folder}/package.json`, "{}");
    await npm(`install @modelcontextprotocol/conformance@${version}`, folder);
    const main = `${folder}/node_modules/@modelcontextprotocol/conformance/dist/index.js`;
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-config",
        "--no-lock",
        "--node-modules-dir=manual",
        main,
        "authorization",
        ...args,
        "-o",
        "results",
      ],
      cwd: folder,
      env: { NO_COLOR: "1" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const said = new Response(child.stderr).text();
    let text = "";
    let opened: Promise<void> = Promise.resolve();
    let fault: unknown;
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      const before = text;
      text += part;
      const line = /^(http\S+\/oauth\/authorize\?\S+)\n/m;
      const [, address] = line.exec(text) ?? [];
      if (address === undefined || line.test(before)) continue;
      opened = open(address).then((back) => fetch(back)).then((response) => response.body?.cancel())
        .catch((error) => {
          fault = error;
          child.kill();
        });
    }
    await opened;
    await child.status;
    if (fault !== undefined) throw fault;
    const checks = await checksIn(`${folder}/results`);
    if (checks.length === 0) throw new Error(`${text}\n${await said}`);
    return checks;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function checksIn(folder: string): Promise<Check[]> {
  const checks: Check[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) checks.push(...await checksIn(`${folder}/${name}`));
    else if (name === "checks.json") checks.push(...JSON.parse(await Deno.readTextFile(`${folder}/${name}`)));
  }
  return checks;
}
