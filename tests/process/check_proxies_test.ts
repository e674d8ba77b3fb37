// Runs the configuration that `gatehouse check` prints in the real Caddy and nginx, and checks that it works.
import assert from "node:assert/strict";
import { isMissing } from "../support/runner/needs.ts";
import { poll } from "../support/runner/poll.ts";
import {
  isReady,
  killProgram,
  programCommand,
  type ProgramOptions,
  startProgram,
} from "../support/process/program.ts";
import { freePort } from "../support/database/sqld.ts";

/** Writes a configuration file and returns the command that runs it. */
type Proxy = (folder: string, block: string) => { command: string; args: string[] };

const proxies: Readonly<Record<"caddy" | "nginx", Proxy>> = {
  caddy(folder, block) {
    const file = `${folder}/Caddyfile`;
    Deno.writeTextFileSync(file, `{\n\tadmin off\n\tauto_https off\n}\n${block}\n`);
    return { command: "caddy", args: ["run", "--adapter", "caddyfile", "--config", file] };
  },
  nginx(folder, block) {
    const file = `${folder}/nginx.conf`;
    const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    const temporary = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join("\n");
    const http = `http {\naccess_log off;\n${temporary}\n${block}\n}\n`;
    const main = `daemon off;\nmaster_process off;\nerror_log stderr;\npid ${folder}/pid;\nevents {}\n`;
    Deno.writeTextFileSync(file, main + http);
    return { command: "nginx", args: ["-p", folder, "-c", file] };
  },
};

for (const name of ["caddy", "nginx"] as const) {
  Deno.test({
    name: `check reports no problem behind ${name} with its printed configuration`,
    ignore: isMissing(name),
    async fn() {
      const folder = await Deno.makeTempDir({ prefix: "gatehouse-proxies-" });
      const publicPort = freePort();
      const options: ProgramOptions = {
        folder,
        env: {
          PORT: String(freePort()),
          HTTP_THREADS: "1",
          BASE_URL: `http://localhost:${publicPort}`,
          ALLOWED_ORIGINS: "http://localhost:3000",
          TRUSTED_PROXIES: "127.0.0.1,::1",
          LOG_LEVEL: "warning",
        },
      };
      const check = async () => {
        const command = programCommand({ ...options, args: ["check", "--json"] }, { stdin: "null" });
        return JSON.parse(new TextDecoder().decode((await command.output()).stdout));
      };
      const program = startProgram(options);
      try {
        await isReady(program);
        const without = await check();
        assert.equal(without.verdict, "wrong");
        const { command, args } = proxies[name](folder, without.proxy[name]);
        const proxy = new Deno.Command(command, {
          args,
          env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
          stdin: "null",
          stdout: "null",
          stderr: "null",
        }).spawn();
        try {
          await poll(async () => {
            const response = await fetch(`http://localhost:${publicPort}/health/ready`).catch(() => null);
            await response?.body?.cancel();
            return response?.ok === true;
          });
          const { verdict, checks } = await check();
          const bad = checks.filter((one: { verdict: string }) => one.verdict !== "ok");
          assert.deepEqual(bad.filter(({ about }: { about: string }) => about !== "Disk"), []);
          assert.notEqual(verdict, "wrong");
          const said = (about: string) => checks.find((one: { about: string }) => one.about === about)?.saw;
          assert.equal(said("Cookies of requests"), "They reach the server.");
          assert.match(said("X-Forwarded-For"), /^The proxy sends it/);
        } finally {
          proxy.kill("SIGTERM");
          await proxy.status;
        }
      } finally {
        await killProgram(program);
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}
