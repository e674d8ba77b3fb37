// The OpenID provider costs those who don't use it nothing: what is loaded without it.
import assert from "node:assert/strict";
import { thisRoot } from "../../support/process/program.ts";

interface Module {
  readonly specifier: string;
  readonly dependencies?: readonly {
    readonly code?: { readonly specifier: string };
    readonly isDynamic?: boolean;
  }[];
}

/** @returns The modules that are loaded together with a file of the program. */
async function loadedWith(file: string): Promise<string[]> {
  const args = ["info", "--json", `--config=${thisRoot}deno.json`, thisRoot + file];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args, stderr: "null" }).output();
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as { modules: readonly Module[] };
  const byName = new Map(modules.map((one) => [one.specifier, one]));
  const loaded = new Set<string>();
  const load = (name: string) => {
    if (loaded.has(name)) return;
    loaded.add(name);
    for (const { code, isDynamic } of byName.get(name)?.dependencies ?? []) {
      if (code !== undefined && isDynamic !== true) load(code.specifier);
    }
  };
  load(`file://${thisRoot}${file}`);
  return [...loaded];
}

Deno.test("a thread starts without the provider's routes, and all routes are loaded without the package of its keys", async () => {
  const start = await loadedWith("hot_app.ts");
  assert.ok(start.some((name) => name.endsWith("routes/base_app.ts")), start.join());
  assert.deepEqual(start.filter((name) => /\/routes\/oauth\/|jose/.test(name)), []);
  const whole = await loadedWith("app.ts");
  assert.ok(whole.some((name) => name.endsWith("routes/oauth/token.ts")));
  assert.deepEqual(whole.filter((name) => name.includes("jose")), []);
});
