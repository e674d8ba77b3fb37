// Runs generators of API clients as docs/api.md shows them, and programs that use the clients.
import assert from "node:assert/strict";
import { startTestApp, type TestApp } from "../app/app.ts";
import { freePort } from "../database/sqld.ts";

const root = new URL("../../../", import.meta.url);
const text = new TextDecoder();

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

/** Starts a server, and ends it afterwards. */
export async function withWorkshop(use: (workshop: Workshop) => Promise<void>): Promise<void> {
  const port = freePort();
  const baseUrl = `http://localhost:${port}`;
  const test = await startTestApp({ PORT: String(port), BASE_URL: baseUrl });
  const server = Deno.serve(
    { port, hostname: "127.0.0.1", onListen() {} },
    (request) => test.app.fetch(request),
  );
  const folder = await Deno.makeTempDir();
  const deno = async (args: readonly string[]) => {
    const env = { NO_COLOR: "1", REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
    const command = new Deno.Command(Deno.execPath(), { args: [...args], cwd: folder, env, stdin: "null" });
    const { success, stdout, stderr } = await command.output();
    assert.ok(success, `${args.join(" ")}\n${text.decode(stdout)}${text.decode(stderr)}`);
    return text.decode(stdout);
  };
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
        const [npx, name, ...args] = command.trim().replaceAll("https://auth.example.com", baseUrl).split(
          /\s+/,
        );
        assert.equal(npx, "npx");
        const lock = [`--config=${root.pathname}deno.json`, `--lock=${root.pathname}deno.lock`, "--frozen"];
        return deno(["run", "--no-prompt", "--allow-all", ...lock, `npm:${name}`, ...args]);
      },
      async run(name, args) {
        // Generated code may import files without their extension, as bundlers allow.
        const flags = ["--no-check", "--no-lock", "--no-prompt", "--unstable-sloppy-imports"];
        return JSON.parse(await deno(["run", ...flags, "--allow-net=localhost", `${name}.ts`, ...args]));
      },
    });
  } finally {
    await server.shutdown();
    await test.dispose();
    await Deno.remove(folder, { recursive: true });
  }
}
