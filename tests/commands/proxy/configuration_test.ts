// The proxy configurations fit the settings, and the real programs accept them.
import assert from "node:assert/strict";
import type { Settings } from "../../../config.ts";
import { isBehindProxy, proxyBlock, proxyNames, upstreamOf } from "../../../commands/proxy/configuration.ts";
import { accepted } from "../../config_assert.ts";
import { isMissing } from "../../support/runner/needs.ts";

const applications = [
  { host: "app.example.com", address: "127.0.0.1:3000", query: "email=verified", isMetered: false },
  {
    host: "api.example.com",
    address: "[::1]:3001",
    query: "accept=session,key&meter=tiles/a.b:c_d-e&email=verified",
    isMetered: true,
  },
];

function blocksOf(settings: Settings, protecting: typeof applications = []) {
  const config = accepted(settings);
  const [nginx, caddy, traefik] = proxyNames.map((name) => proxyBlock(name, config, protecting) ?? "");
  return { nginx: nginx ?? "", caddy: caddy ?? "", traefik: traefik ?? "" };
}

const deployments: Readonly<Record<string, Settings>> = {
  "https on its own port": { BASE_URL: "https://auth.example.com", COOKIE_DOMAIN: ".example.com" },
  "https on another port": { BASE_URL: "https://auth.example.com:8443", HOST: "::", PORT: "9000" },
  "http on another port": { BASE_URL: "http://auth.example.test:8080", HOST: "0.0.0.0" },
  "a name below localhost": { BASE_URL: "https://auth.acme.localhost", COOKIE_DOMAIN: ".acme.localhost" },
  "a loopback address": { BASE_URL: "http://127.0.0.2:8080" },
  "an IPv6 address": { BASE_URL: "https://[2001:db8::1]", HOST: "::1" },
};

function run(program: string, ...args: string[]): void {
  const { success, stdout, stderr } = new Deno.Command(program, { args, stdin: "null" }).outputSync();
  const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert(success, `${program} ${args.join(" ")}: ${said}`);
}

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-block-" });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test({
  name: "Caddy accepts every configuration for it",
  ignore: isMissing("caddy"),
  fn: () =>
    inFolder(async (folder) => {
      for (const [name, settings] of Object.entries(deployments)) {
        const file = `${folder}/${name.replaceAll(" ", "-")}.Caddyfile`;
        for (const protecting of [[], applications]) {
          await Deno.writeTextFile(file, `${blocksOf(settings, protecting).caddy}\n`);
          run("caddy", "validate", "--adapter", "caddyfile", "--config", file);
        }
      }
    }),
});

Deno.test({
  name: "nginx accepts every configuration for it",
  ignore: isMissing("nginx", "openssl"),
  fn: () =>
    inFolder(async (folder) => {
      const [key, cert] = [`${folder}/key.pem`, `${folder}/cert.pem`];
      const subject = ["-subj", "/CN=auth.example.com", "-days", "1", "-nodes", "-newkey", "rsa:2048"];
      run("openssl", "req", "-x509", ...subject, "-keyout", key, "-out", cert);
      for (const [name, settings] of Object.entries(deployments)) {
        const file = `${folder}/${name.replaceAll(" ", "-")}.conf`;
        for (const protecting of [[], applications]) {
          const block = blocksOf(settings, protecting).nginx
            .replaceAll(/\/etc\/letsencrypt\S*fullchain.pem/g, cert)
            .replaceAll(/\/etc\/letsencrypt\S*privkey.pem/g, key);
          const around =
            `error_log stderr;\npid ${folder}/pid;\nevents {}\nhttp {\naccess_log off;\n${block}\n}\n`;
          await Deno.writeTextFile(file, around);
          run("nginx", "-t", "-p", folder, "-c", file);
        }
      }
    }),
});

Deno.test("proxyBlock() uses the host, the port and the limits of the settings", () => {
  const { caddy, nginx } = blocksOf({ BASE_URL: "https://auth.example.com", PORT: "9000" });
  assert.match(caddy, /^https:\/\/auth\.example\.com \{[^]*reverse_proxy 127\.0\.0\.1:9000\n\}$/);
  assert.doesNotMatch(caddy, /^\s*encode/m);
  assert.match(nginx, /listen 80;[^]*return 301 https:\/\/\$host\$request_uri;/);
  assert.match(nginx, /listen 443 ssl;[^]*server_name auth\.example\.com;/);
  assert.match(nginx, /server 127\.0\.0\.1:9000;/);
  assert.match(nginx, /X-Forwarded-For \$remote_addr;/);
  assert.match(nginx, /client_max_body_size 1024k;/);
  // The longest redirect of the service fits.
  assert.match(nginx, /proxy_buffer_size 12k;/);
  const plain = blocksOf({ BASE_URL: "http://auth.example.test:8080" }, applications);
  assert.doesNotMatch(plain.nginx, /ssl|return 301/);
  assert.match(plain.nginx, /listen 8080;/);
  assert.match(plain.caddy, /^http:\/\/api\.example\.com:8080 \{$/m);
  assert.equal(proxyBlock("nginx", accepted({ PORT: "0" })), null);
});

Deno.test("proxyBlock() listens only on this machine for hosts that only it reaches", () => {
  const listening = ({ nginx }: { nginx: string }) => new Set(nginx.match(/listen [^;]*/g));
  const tiles = [{
    host: "tiles.acme.localhost",
    address: "127.0.0.1:3000",
    query: "role=OWNER",
    isMetered: false,
  }];
  const named = blocksOf({ BASE_URL: "https://auth.acme.localhost" }, tiles);
  assert.deepEqual(
    listening(named),
    new Set(["listen 127.0.0.1:80", "listen [::1]:80", "listen 127.0.0.1:443 ssl", "listen [::1]:443 ssl"]),
  );
  assert.equal(named.caddy.match(/^\tbind 127\.0\.0\.1 \[::1\]$/gm)?.length, 2);
  const literal = blocksOf({ BASE_URL: "http://127.0.0.2:8080" });
  assert.deepEqual(listening(literal), new Set(["listen 127.0.0.2:8080"]));
  const reachable = blocksOf({ BASE_URL: "https://auth.example.com" }, tiles);
  assert(listening(reachable).has("listen 443 ssl") && listening(reachable).has("listen 127.0.0.1:443 ssl"));
  assert(listening(reachable).has("listen 80"), "the redirect is for both hosts");
  assert.doesNotMatch(blocksOf({ BASE_URL: "https://auth.example.com" }).caddy, /bind/);
});

Deno.test("proxyBlock() for nginx is short, and never sends a metered request twice", () => {
  const settings = { BASE_URL: "https://auth.example.com" };
  const lines = (protecting: typeof applications) => blocksOf(settings, protecting).nginx.split("\n");
  const [one, two] = [lines(applications.slice(0, 1)), lines(applications)];
  assert(one.length <= 70, `${one.length} lines`);
  assert(two.length - one.length <= 42, `${two.length - one.length} lines more for one application more`);
  const { nginx } = blocksOf(settings, applications);
  assert.equal(nginx.match(/proxy_next_upstream off;/g)?.length, 1);
});

Deno.test("upstreamOf() reaches a server that listens on every address, and isBehindProxy() detects a proxy", () => {
  assert.equal(upstreamOf({ host: "0.0.0.0", port: 1 }), "127.0.0.1:1");
  assert.equal(upstreamOf({ host: "::", port: 2 }), "[::1]:2");
  assert.equal(upstreamOf({ host: "10.0.0.1", port: 3 }), "10.0.0.1:3");
  const at = (base: string, port: number) => {
    const baseUrl = new URL(base);
    return isBehindProxy({ baseUrl, secure: baseUrl.protocol === "https:", host: "::1", port });
  };
  assert(!at("http://localhost:8000", 8000));
  assert(!at("http://localhost", 80));
  assert(at("http://localhost:8000", 8001));
  assert(at("http://auth.example.com", 8000));
  assert(at("https://auth.example.com", 443));
});
