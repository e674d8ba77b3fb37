// Runs generators of API clients as docs/api.md shows them, and programs that use the clients.
import { startTestApp, type TestApp } from "../app/app.ts";
import { root } from "../build/sources.ts";
import { freePort } from "../database/sqld.ts";
import { runLines } from "../runner/guides.ts";

/** A folder for clients, and a server whose document they are generated from. */
export interface Workshop {
  readonly test: TestApp;
  readonly baseUrl: string;
  readonly folder: string;
  /** Runs an `npx` command of the guide with the version in the lock file. @returns What it printed. */
  generate(command: string): Promise<string>;
  /** Runs a program in the folder. @returns The JSON that it printed. */
  run(name: string, args: readonly string[]): Promise<unknown>;
}

export async function withWorkshop(use: (workshop: Workshop) => Promise<void>): Promise<void> {
  const port = freePort();
  const baseUrl = `http://localhost:${port}`;
  const test = await startTestApp({ PORT: String(port), BASE_URL: baseUrl });
  const server = Deno.serve(
    { port, hostname: "127.0.0.1", onListen() {} },
    (request) => test.app.fetch(request),
  );
  const folder = await Deno.makeTempDir();
  const env = {
    NO_COLOR: "1",
    JITI_FS_CACHE: "false",
    REDOCLY_TELEMETRY: "off",
    REDOCLY_SUPPRESS_UPDATE_NOTICE: "true",
  };
  const deno = (args: string) =>
    runLines(`'${Deno.execPath()}' run --no-prompt ${args}`, { cwd: folder, env });
  try {
    await Deno.writeTextFile(
      `${folder}/deno.json`,
      JSON.stringify({ nodeModulesDir: "none", imports: { "openapi-fetch": "npm:openapi-fetch@0.17.0" } }),
    );
    await use({
      test,
      baseUrl,
      folder,
      generate(command) {
        const lock = `--config=${root}deno.json --lock=${root}deno.lock --frozen`;
        const [, call] = /^npx (.*)$/s.exec(command.replaceAll("https://auth.example.com", baseUrl)) ?? [];
        return deno(`--allow-all ${lock} npm:${call}`);
      },
      async run(name, args) {
        // Generated code may import files without their extension, as bundlers allow.
        const flags = "--no-check --no-lock --unstable-sloppy-imports --allow-net=localhost";
        return JSON.parse(await deno(`${flags} ${name}.ts ${args.join(" ")}`));
      },
    });
  } finally {
    await server.shutdown();
    await test.dispose();
    await Deno.remove(folder, { recursive: true });
  }
}
