// docs/reverse-proxy.md: Gatehouse behind Debian's Caddy and nginx with the guide's blocks, with only ports and paths
// changed. The client is curl at its own address, 127.0.0.5; the proxy's is 127.0.0.1.
import assert from "node:assert/strict";
import { readGuide, runLines, startCommand } from "../support/runner/guides.ts";
import { isMissing } from "../support/runner/needs.ts";
import { poll } from "../support/runner/poll.ts";
import { killProgram, type Program } from "../support/process/program.ts";
import { onServer } from "../support/process/scene.ts";
import { nginxConfiguration } from "../support/network/proxies.ts";
import { freePort } from "../support/database/sqld.ts";

const block = await readGuide("reverse-proxy.md");
const clientAddress = "127.0.0.5";
const settings = Object.fromEntries(
  block("settings").trim().split("\n").map((line) => line.split("=") as [string, string]),
);

/** A running proxy, and how curl reaches it. */
interface Proxy {
  readonly https: number;
  readonly http: number;
  /** The path of its certificate authority. */
  readonly authority: string;
  readonly output: () => string;
  stop(): Promise<unknown>;
}

type StartProxy = (program: Program, folder: string) => Promise<Proxy>;

const startCaddy: StartProxy = async (program, folder) => {
  const [https, http] = [freePort(), freePort()];
  // Options in front of the guide's block replace what Caddy does with a public name.
  const options = `{
    admin off
    local_certs
    skip_install_trust
    storage file_system ${folder}/storage
    https_port ${https}
    http_port ${http}
    default_bind 127.0.0.1
  }\n`;
  const text = block("caddy").replace("127.0.0.1:8000", `127.0.0.1:${new URL(program.baseUrl).port}`);
  await Deno.writeTextFile(`${folder}/Caddyfile`, options + text);
  const command = startCommand(`caddy run --config '${folder}/Caddyfile' --adapter caddyfile`, {
    cwd: folder,
    env: { HOME: folder },
  });
  return {
    https,
    http,
    authority: `${folder}/storage/pki/authorities/local/root.crt`,
    output: command.output,
    stop: command.stop,
  };
};

const startNginx: StartProxy = async (program, folder) => {
  const [https, http] = [freePort(), freePort()];
  await runLines(
    `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=auth.example.com \
      -addext subjectAltName=DNS:auth.example.com -keyout key.pem -out cert.pem 2>&1`,
    { cwd: folder },
  );
  const text = block("nginx")
    .replace("127.0.0.1:8000", `127.0.0.1:${new URL(program.baseUrl).port}`)
    .replace("listen 443 ssl; listen [::]:443 ssl;", `listen 127.0.0.1:${https} ssl;`)
    .replace("listen 80; listen [::]:80;", `listen 127.0.0.1:${http};`)
    .replace("/etc/letsencrypt/live/auth.example.com/fullchain.pem", `${folder}/cert.pem`)
    .replace("/etc/letsencrypt/live/auth.example.com/privkey.pem", `${folder}/key.pem`);
  await Deno.writeTextFile(`${folder}/nginx.conf`, nginxConfiguration(folder, text));
  const command = startCommand(`nginx -e stderr -p '${folder}' -c '${folder}/nginx.conf'`, {
    cwd: folder,
    env: { PATH: `${Deno.env.get("PATH")}:/usr/sbin` },
  });
  return { https, http, authority: `${folder}/cert.pem`, output: command.output, stop: command.stop };
};

/** @returns The lines with a `curl` that connects to the proxy under the guide's name, from the client's own address. */
function curlLines(lines: string, proxy: Proxy): string {
  return `curl() { command curl --max-time 20 --interface ${clientAddress} --cacert '${proxy.authority}' \
    --connect-to auth.example.com:443:127.0.0.1:${proxy.https} \
    --connect-to auth.example.com:80:127.0.0.1:${proxy.http} "$@"; }\n${lines}`;
}

function behind(startProxy: StartProxy): Promise<void> {
  return onServer({ env: settings }, async ({ folder, program }) => {
    const proxy = await startProxy(program, folder);
    const run = (lines: string, env: Record<string, string> = {}) =>
      runLines(curlLines(lines, proxy), { cwd: folder, env });
    try {
      await poll(() =>
        run("curl --silent --fail https://auth.example.com/health/ready").then(() => true, () => false)
      );
      await usesIt(run, folder);
      await killProgram(program);
      const status = await run(
        "curl --silent -o /dev/null -w '%{http_code}' https://auth.example.com/api/auth/me",
      );
      assert.equal(status, "502");
    } catch (error) {
      throw new Error(`${proxy.output()}\n${program.output()}`, { cause: error });
    } finally {
      await proxy.stop();
    }
  });
}

type Run = (lines: string, env?: Record<string, string>) => Promise<string>;

async function usesIt(run: Run, folder: string): Promise<void> {
  const json = '-H "Content-Type: application/json"';
  const site = "https://auth.example.com";

  // http redirects to https with the path and the query.
  const moved = await run(
    `curl --silent -o /dev/null -w '%{http_code} %{redirect_url}' 'http://auth.example.com/a?b=c'`,
  );
  assert.match(moved, /^30[18] https:\/\/auth\.example\.com\/a\?b=c$/);

  // Sign up with a forged client address.
  const signUp = await run(
    `curl --silent --include --cookie-jar jar.txt ${site}/api/auth/sign-up ${json} \
      -H "X-Forwarded-For: 6.6.6.6" -H "Forwarded: for=6.6.6.6" -H "X-Real-IP: 6.6.6.6" -H "X-Forwarded-Proto: http" \
      -d '{"name": "Ada", "email": "ada@example.com", "password": "nine green umbrellas"}'`,
  );
  assert.match(signUp, /^HTTP\/\S+ 201/);
  assert.match(signUp, /^set-cookie: access_token=[^;]+;.*Secure/im);
  assert.equal(signUp.match(/^strict-transport-security:/gim)?.length, 1);
  assert.match(signUp, /^cache-control: no-store, no-transform\r$/im);
  const addresses = async (jar: string) => {
    const { sessions } = JSON.parse(await run(`curl --silent --cookie ${jar} ${site}/api/auth/sessions`));
    return sessions.map(({ address }: { address: string }) => address);
  };
  assert.deepEqual(await addresses("jar.txt"), [clientAddress]);

  // Run the guide's own commands.
  const { sessions } = JSON.parse(await run(block("look")));
  assert.deepEqual(sessions.map(({ address }: { address: string }) => address), [
    clientAddress,
    clientAddress,
  ]);

  // Send a page's form as a browser does.
  const form = await run(
    `curl --silent -o /dev/null -w '%{http_code} %{redirect_url}' ${site}/sign-in -H "Origin: ${site}" \
      -H "Sec-Fetch-Site: same-origin" --data-urlencode email=ada@example.com \
      --data-urlencode "password=nine green umbrellas"`,
  );
  assert.match(form, /^303 https:\/\/auth\.example\.com\/portal/);

  // The longest return address passes through the headers of a redirect.
  const back = encodeURIComponent("/portal?".padEnd(1_960, "&"));
  const redirected = await run(
    `curl --silent -o /dev/null -w '%{http_code} %{redirect_url}' '${site}/sign-in/continue?return_to=${back}'`,
  );
  assert.equal(redirected, `303 ${site}/sign-in?return_to=${back}`);

  // No proxy compresses anything, pages are compressed by the server alone, and metrics are not public.
  const encoding = `curl --silent -o /dev/null -D - -H 'Accept-Encoding: gzip, br, zstd' --cookie jar.txt`;
  for (const path of ["/api/auth/me", "/portal/api-keys"]) {
    assert.doesNotMatch(await run(`${encoding} ${site}${path}`), /content-encoding/i, path);
  }
  assert.match(
    await run(`${encoding} -H 'Sec-Fetch-Site: none' ${site}/portal/api-keys`),
    /content-encoding/i,
  );
  assert.equal(await run(`curl --silent -o /dev/null -w '%{http_code}' ${site}/metrics`), "404");

  // Bodies of 1 MiB are accepted, and larger ones are not.
  const created = JSON.parse(
    await run(
      `curl --silent --cookie jar.txt ${site}/api/portal/api-keys ${json} -d '{"name": "Production"}'`,
    ),
  );
  const batch = async (bytes: number) => {
    const value = "x".repeat(255);
    const properties = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`p${i}`, value]));
    const record = { productSlug: "tiles", metric: "requests", quantity: 1, properties };
    const count = Math.floor((bytes - 20) / (JSON.stringify(record).length + 1));
    const text = JSON.stringify({ records: Array.from({ length: count }, () => record) });
    await Deno.writeTextFile(`${folder}/batch.json`, text.padEnd(bytes));
    return await run(
      `curl --silent -w '\n%{http_code}' ${site}/api/v1/usage/batch -H "Content-Type: application/json" \
        -H "Authorization: Bearer $KEY" --data-binary @batch.json || true`,
      { KEY: created.fullKey },
    );
  };
  assert.match(await batch(1024 * 1024), /^\{"accepted":\d{3},"duplicates":0\}\n201$/);
  // Gatehouse rejects by the length alone and closes the connection. What the proxy responds depends on what it had sent.
  for (const bytes of [1024 * 1024 + 1, 3_000_000]) {
    assert.match(await batch(bytes), /\n(413|50\d|000)$/, `${bytes} bytes`);
  }
}

for (const [name, start] of [["caddy", startCaddy], ["nginx", startNginx]] as const) {
  Deno.test({
    name: `behind ${name} as in the guide, signing up works and clients keep their own addresses`,
    // Only Linux has all of 127.0.0.0/8.
    ignore: Deno.build.os !== "linux" ||
      isMissing(name, "openssl", "curl"),
    fn: () => behind(start),
  });
}
