// What a release says about the packages in the binary.
import assert from "node:assert/strict";
import { billOfMaterials, licenseTexts, readPackages, type Release } from "../support/build/sbom.ts";

const root = new URL("../../", import.meta.url);
const release: Release = { version: "1.2.3", commit: "abc", madeAt: new Date(0), deno: "2.7.11" };

async function packagesOfBinary() {
  const { npmCache } = JSON.parse(
    new TextDecoder().decode(
      (await new Deno.Command(Deno.execPath(), { args: ["info", "--json"], stdin: "null" }).output()).stdout,
    ),
  );
  const lock = JSON.parse(await Deno.readTextFile(new URL("deno.production.lock", root)));
  const [registry] = Array.from(Deno.readDirSync(npmCache)).filter(({ isDirectory }) => isDirectory);
  return await readPackages(lock, `${npmCache}/${registry?.name}`);
}

Deno.test("the bill of materials names every package with license, hash and dependencies, always in the same bytes", async () => {
  const [packages, again] = await Promise.all([packagesOfBinary(), packagesOfBinary()]);
  const text = billOfMaterials(packages, release);
  assert.equal(billOfMaterials(again, release), text);
  assert.notEqual(billOfMaterials(again, { ...release, commit: "abd" }), text);
  const { bomFormat, specVersion, serialNumber, metadata, components, dependencies } = JSON.parse(text);
  assert.deepEqual([bomFormat, specVersion, metadata.timestamp], [
    "CycloneDX",
    "1.6",
    "1970-01-01T00:00:00.000Z",
  ]);
  assert.match(serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  const imports: string[] = Object.values(
    JSON.parse(await Deno.readTextFile(new URL("deno.json", root))).imports,
  );
  const versions = components.map((one: { name: string; version: string }) =>
    `npm:${one.name}@${one.version}`
  );
  for (const one of imports.filter((specifier) => specifier.startsWith("npm:"))) {
    assert.ok(versions.includes(one), one);
  }
  assert.ok(versions.includes("npm:deno@2.7.11"));
  // Those of other systems are not in the binary.
  assert.ok(!versions.some((one: string) => /argon2-(darwin|win32)/.test(one)));
  for (const { name, licenses, hashes } of components) {
    assert.ok(licenses[0].expression.length > 2, name);
    if (name !== "deno") assert.match(hashes[0].content, /^[0-9a-f]{128}$/, name);
  }
  const refs = new Set(components.map((one: Record<string, string>) => one["bom-ref"]));
  const hono = dependencies.find(({ ref }: { ref: string }) =>
    ref.startsWith("pkg:npm/%40hono/zod-openapi@")
  );
  assert.ok(hono.dependsOn.some((ref: string) => ref.startsWith("pkg:npm/hono@")), JSON.stringify(hono));
  for (const { dependsOn = [] } of dependencies) assert.ok(dependsOn.every((ref: string) => refs.has(ref)));
});

Deno.test("the texts of licenses cover every package", async () => {
  const packages = await packagesOfBinary();
  const text = licenseTexts(packages, "Copyright Gatehouse", release);
  for (const { name, version, license } of packages) {
    assert.ok(text.includes(`\n${name} ${version} (${license})\n`), name);
  }
  assert.ok(text.includes("SIL OPEN FONT LICENSE"));
});
