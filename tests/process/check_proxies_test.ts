// Runs the configuration that `gatehouse check` prints in the real Caddy and nginx, and checks that it works.
import assert from "node:assert/strict";
import { freePort } from "../support/database/sqld.ts";
import { proxyKinds } from "../support/network/proxies.ts";
import { onServer } from "../support/process/scene.ts";

for (const { name, ignore, run: runProxy } of proxyKinds) {
  Deno.test({
    name: `check reports no problem behind ${name} with its printed configuration`,
    ignore,
    fn() {
      const port = freePort();
      const env = {
        PORT: String(freePort()),
        BASE_URL: `http://localhost:${port}`,
        ALLOWED_ORIGINS: "http://localhost:3000",
        TRUSTED_PROXIES: "127.0.0.1,::1",
        LOG_LEVEL: "warning",
      };
      return onServer({ env }, async ({ folder, run }) => {
        const check = async () => JSON.parse((await run("check", "--json")).stdout);
        const without = await check();
        assert.equal(without.verdict, "wrong");
        const proxy = await runProxy(folder, { port, block: `${without.proxy[name]}\n` });
        try {
          const { verdict, checks } = await check();
          const bad = checks.filter((one: { verdict: string }) => one.verdict !== "ok");
          assert.deepEqual(bad.filter(({ about }: { about: string }) => about !== "Disk"), []);
          assert.notEqual(verdict, "wrong");
          const said = (about: string) => checks.find((one: { about: string }) => one.about === about)?.saw;
          assert.equal(said("Cookies of requests"), "They reach the server.");
          assert.match(said("X-Forwarded-For"), /^The proxy sends it/);
        } finally {
          await proxy.stop();
        }
      });
    },
  });
}
