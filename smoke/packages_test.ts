// Tests that the binary contains the packages that it loads only on demand.
import assert from "node:assert/strict";
import settings from "../deno.json" with { type: "json" };
import { filesIn } from "../tests/support/build/bundle.ts";
import { sendJson, signUpAndRecord } from "../tests/support/process/journey.ts";
import { poll } from "../tests/support/runner/poll.ts";
import { isReady, killProgram, programCommand, startProgram } from "../tests/support/process/program.ts";
import { codeOf, TestPasskey } from "../tests/support/people/second_step.ts";
import { linksOf, startSmtp } from "../tests/support/network/smtp.ts";
import { sqldMissing, startSqld } from "../tests/support/database/sqld.ts";

const binary = new URL("../dist/gatehouse", import.meta.url).pathname;
const account = "/api/portal/account";

const onSqld = { ignore: sqldMissing() !== null };

Deno.test(
  "on a libSQL server, the binary sends email, shows pages, and accepts codes and passkeys",
  onSqld,
  async () => {
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-smoke-" });
    const [database, smtp] = await Promise.all([startSqld(), startSmtp()]);
    const program = startProgram({
      folder,
      binary,
      bareEnvironment: true,
      env: {
        HOME: folder,
        DATABASE_URL: database.url,
        SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
        MAIL_FROM: "auth@example.com",
      },
    });
    try {
      await isReady(program);
      const { baseUrl } = program;
      const { cookie } = await signUpAndRecord(baseUrl);
      const post = async (path: string, json: unknown = {}) => {
        const response = await sendJson(baseUrl, path, { cookie, json });
        const text = await response.text();
        assert.ok(response.ok, `${path}: ${response.status} ${text}`);
        return text === "" ? null : JSON.parse(text);
      };

      await poll(() => smtp.received.length > 0);
      assert.match(linksOf(smtp.received[0]?.raw ?? "")[0] ?? "", /\/verify-email\?token=/);

      const { secret } = await post(`${account}/two-step/totp`);
      const setUp = await (await sendJson(baseUrl, "/portal/account/two-step/set-up", { cookie })).text();
      assert.match(setUp, /<svg[^>]*>/);
      const { recoveryCodes } = await post(`${account}/two-step/totp/confirm`, {
        code: codeOf(secret, Date.now()),
      });
      assert.ok(recoveryCodes.length > 0);

      const passkey = new TestPasskey(baseUrl);
      const { options } = await post(`${account}/passkeys/options`);
      await post(`${account}/passkeys`, { name: "Laptop", response: passkey.register(options) });
      const signIn = await post("/api/auth/sign-in/passkey/options");
      const signedIn = await post("/api/auth/sign-in/passkey", { response: passkey.signIn(signIn.options) });
      assert.equal(signedIn.authenticated, true);

      const client = `/download/gatehouse-client-${settings.version}.tgz`;
      for (
        const path of ["/portal/usage", "/portal/account/security", "/docs", "/api/openapi.json", client]
      ) {
        const answer = await sendJson(baseUrl, path, { cookie });
        assert.equal(answer.status, 200, `${path}: ${await answer.text()}`);
      }
      program.kill("SIGTERM");
      assert.equal(await program.ended(), 0, program.output());
      assert.doesNotMatch(program.output(), /error|fatal/i);
    } finally {
      await killProgram(program);
      await Promise.all([database.stop(), smtp.stop()]);
      await Deno.remove(folder, { recursive: true });
    }
  },
);

Deno.test("every module of the bundle loads by itself", async () => {
  const bundle = new URL("../dist/program/", import.meta.url).pathname;
  const modules = [...filesIn(bundle.slice(0, -1))].filter((path) =>
    path.endsWith(".js") && !path.endsWith("_worker.js")
  );
  assert.ok(modules.length > 50, String(modules.length));
  const code = `for (const path of ${JSON.stringify(modules)}) await import("file://" + path);`;
  const command = new Deno.Command(Deno.execPath(), { args: ["eval", code], cwd: bundle });
  const { success, stderr } = await command.output();
  assert.ok(success, new TextDecoder().decode(stderr));
});

Deno.test("the binary runs other commands and knows public suffixes", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-smoke-" });
  const run = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const command = programCommand({ folder, binary, args, bareEnvironment: true, env }, { stdin: "null" });
    const { code, stdout, stderr } = await command.output();
    return { code, output: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
  };
  try {
    const suffix = await run(["serve"], { BASE_URL: "https://auth.co.uk", COOKIE_DOMAIN: ".co.uk" });
    assert.equal(suffix.code, 78, suffix.output);
    assert.match(suffix.output, /COOKIE_DOMAIN.*public suffix/i);
    assert.equal(JSON.parse((await run(["openapi"])).output).openapi, "3.1.0");
    const { version, commit, deno, engine } = JSON.parse((await run(["--version", "--json"])).output);
    assert.match(commit, /^[0-9a-f]{40}(-changed)?$/);
    assert.deepEqual([version, deno, engine.name], [settings.version, Deno.version.deno, "sqlite"]);
    assert.equal((await run(["migrate"])).code, 0);
    const made = await run(["user", "create", "ada@example.com", "--name", "Ada"]);
    assert.equal(made.code, 0, made.output);
    assert.match((await run(["user", "list", "--json"])).output, /ada@example\.com/);
    assert.equal((await run(["backup", "copy.db"])).code, 0);
    assert.match((await run(["proxy", "caddy"])).output, /forward_auth|reverse_proxy/);
    const { checks } = JSON.parse((await run(["check", "--json"])).output);
    assert.ok(checks.some(({ about }: { about: string }) => about === "Database"), JSON.stringify(checks));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
