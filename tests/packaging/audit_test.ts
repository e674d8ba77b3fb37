// The audit of CI, with a registry of this test: it fails for severe vulnerabilities of the binary's packages, and only for them.
import assert from "node:assert/strict";

const root = new URL("../../", import.meta.url).pathname;

/** Returns the newest tested Deno. Outside of CI, null if npm doesn't have it in its cache. */
async function newestDeno(): Promise<string | null> {
  const isCi = Deno.env.get("CI") === "true";
  const { success, stdout, stderr } = await new Deno.Command("./denow", {
    args: ["eval", "console.log(Deno.execPath())"],
    cwd: root,
    env: { DENOW_VERSION: "newest", ...(isCi ? {} : { NPM_CONFIG_OFFLINE: "true" }) },
  }).output();
  if (success) return new TextDecoder().decode(stdout).trim();
  if (isCi) throw new Error(`the newest tested Deno is missing: ${new TextDecoder().decode(stderr)}`);
  // deno-lint-ignore no-console
  console.log(
    "Skipped: the audit needs the newest tested Deno; DENOW_VERSION=newest ./denow --version gets it.",
  );
  return null;
}

const deno = await newestDeno();

/** Runs the command of .ci/run. @returns Its exit status and output, and the packages that the registry was asked for. */
async function audit(respond: () => Response) {
  const [, command = ""] =
    /\.\/denow (audit .*) \|\| true$/m.exec(await Deno.readTextFile(`${root}.ci/run`)) ?? [];
  let asked: string[] = [];
  const registry = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    asked = Object.keys(await request.json());
    return respond();
  });
  const { code, stdout, stderr } = await new Deno.Command(deno ?? "", {
    args: command.split(" "),
    cwd: root,
    env: { NPM_CONFIG_REGISTRY: `http://127.0.0.1:${registry.addr.port}`, NO_COLOR: "1" },
  }).output();
  await registry.shutdown();
  return { code, output: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr), asked };
}

const advisory = (severity: string) => () =>
  Response.json({
    hono: [{
      id: 1,
      url: "https://github.com/advisories/GHSA-aaaa-bbbb-cccc",
      title: "Requests are smuggled",
      severity,
      vulnerable_versions: "<999",
      cwe: [],
      cvss: { score: 0, vectorString: null },
    }],
  });

Deno.test({
  name: "the audit of CI fails for a severe vulnerability, and reports a registry without advisories",
  ignore: deno === null,
  async fn() {
    const severe = await audit(advisory("high"));
    assert.equal(severe.code, 1, severe.output);
    assert.match(severe.output, /Requests are smuggled[^]*hono/);
    assert(severe.asked.includes("hono") && !severe.asked.includes("playwright-core"), severe.asked.join());
    for (const respond of [advisory("moderate"), () => Response.json({})]) {
      assert.equal((await audit(respond)).code, 0);
    }
    const none = await audit(() => new Response(null, { status: 405 }));
    assert.equal(none.code, 0);
    assert.match(none.output, /Failed to get data from the registry/);
  },
});
