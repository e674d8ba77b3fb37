// Tests `gatehouse check` on names below localhost with https, which no resolver has to know.
import assert from "node:assert/strict";
import { smtpTlsMissing, testAuthority } from "../support/network/smtp_tls.ts";
import { runCommand } from "../support/process/command.ts";
import { inScene } from "../support/process/scene.ts";
import { freePort } from "../support/database/sqld.ts";

Deno.test({
  name: "check reaches names below localhost over https, and still checks their certificates",
  ignore: smtpTlsMissing(),
  fn: () =>
    inScene({ env: { PORT: String(freePort()), LOG_LEVEL: "warning" } }, async ({ options, start }) => {
      const authority = await testAuthority();
      const certificate = await authority.certify("auth.acme.localhost");
      const upstream = `http://127.0.0.1:${options.env["PORT"]}`;
      const proxy = Deno.serve(
        { hostname: "127.0.0.1", port: 0, onListen() {}, ...certificate },
        ({ url, method, body, headers: given }) => {
          const { pathname, search } = new URL(url);
          const headers = new Headers(given);
          headers.set("x-forwarded-for", "192.0.2.1");
          return fetch(upstream + pathname + search, { method, body, headers, redirect: "manual" });
        },
      );
      const settings = (name: string) => ({
        BASE_URL: `https://${name}.acme.localhost:${proxy.addr.port}`,
        TRUSTED_PROXIES: "127.0.0.1",
      });
      const check = (env: Record<string, string>) =>
        runCommand({ ...options, env: { ...options.env, DENO_CERT: authority.certPath, ...env } }, "check");
      try {
        await start({ env: settings("auth") });
        assert.match((await check(settings("auth"))).stdout, /^ok +Public address .*reaches the server/m);
        const other = await check(settings("other"));
        assert.match(other.stdout, /^wrong +Public address .*certificate not valid for name/m);
        const closed = await check({ ...settings("auth"), BASE_URL: "https://auth.acme.localhost:1" });
        assert.match(closed.stdout, /^wrong +Public address .*is not reachable/m);
      } finally {
        await proxy.shutdown();
        await authority.dispose();
      }
    }),
});
