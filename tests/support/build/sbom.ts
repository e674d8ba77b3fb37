// What the binary contains besides this project: a software bill of materials in CycloneDX, and the texts of all licenses.
import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
// deno-lint-ignore no-import-prefix
import { Enums, Models, Serialize, Spec } from "npm:@cyclonedx/cyclonedx-library@10.3.0";
import { type Lock, packageIdOf } from "./production_lock.ts";

export interface EmbeddedPackage {
  /** As in the lock file, where it may name the versions of peers. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** Such as `sha512-…`, in base64. */
  readonly integrity: string;
  readonly dependencies: readonly string[];
  /** An SPDX expression. */
  readonly license: string;
  /** Its files with licenses and notices. */
  readonly texts: readonly string[];
}

export interface Release {
  readonly version: string;
  readonly commit: string;
  /** When the commit was made. */
  readonly madeAt: Date;
  readonly deno: string;
}

/** Packages for other systems are not embedded. */
const isForThisSystem = ({ os, cpu }: { readonly [field: string]: unknown }) =>
  (!Array.isArray(os) || os.includes(Deno.build.os)) &&
  (!Array.isArray(cpu) || cpu.includes(Deno.build.arch === "x86_64" ? "x64" : "arm64"));

/** @param npmCache The folder of a registry's packages in the cache of Deno. */
export async function readPackages(lock: Lock, npmCache: string): Promise<EmbeddedPackage[]> {
  const embedded = Object.entries(lock.npm).filter(([, found]) => isForThisSystem(found));
  const ids = new Set(embedded.map(([id]) => id));
  return await Promise.all(
    embedded.map(async ([id, { integrity, dependencies = [], optionalDependencies = [] }]) => {
      const at = id.indexOf("@", 1);
      const name = id.slice(0, at);
      const version = id.slice(at + 1).split("_")[0] ?? "";
      const folder = `${npmCache}/${name}/${version}`;
      const { license } = JSON.parse(await Deno.readTextFile(`${folder}/package.json`));
      const files = Array.from(Deno.readDirSync(folder), (entry) => entry.name).sort();
      const texts = files.filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
      return {
        ...{ id, name, version, integrity, license },
        dependencies: [...dependencies, ...optionalDependencies].map((one) => packageIdOf(lock, one))
          .filter((one) => ids.has(one)),
        texts: await Promise.all(texts.map((file) => Deno.readTextFile(`${folder}/${file}`))),
      };
    }),
  );
}

/** Returns the bill of materials as JSON. The same input results in the same text. */
export function billOfMaterials(
  packages: readonly EmbeddedPackage[],
  { version, commit, madeAt, deno }: Release,
): string {
  const { Application, Library, Platform } = Enums.ComponentType;
  const component = (
    type: Enums.ComponentType,
    name: string,
    given: { version: string; license: string; purl: string },
  ) =>
    new Models.Component(type, name, {
      bomRef: given.purl,
      version: given.version,
      purl: given.purl,
      licenses: new Models.LicenseRepository([new Models.LicenseExpression(given.license)]),
    });
  const program = component(Application, "gatehouse", {
    version,
    license: "MIT",
    purl: `pkg:generic/gatehouse@${version}`,
  });
  program.properties.add(new Models.Property("commit", commit));
  const runtime = component(Platform, "deno", {
    version: deno,
    license: "MIT",
    purl: `pkg:github/denoland/deno@v${deno}`,
  });
  const libraries = new Map(packages.map((one) => {
    const purl = `pkg:npm/${one.name.replace("@", "%40")}@${one.version}`;
    const library = component(Library, one.name, { ...one, purl });
    const [, sha512 = ""] = one.integrity.split("-");
    library.hashes.set(Enums.HashAlgorithm["SHA-512"], Buffer.from(sha512, "base64").toString("hex"));
    return [one.id, library];
  }));
  for (const { id, dependencies } of packages) {
    for (const other of dependencies) {
      const ref = libraries.get(other)?.bomRef;
      if (ref !== undefined) libraries.get(id)?.dependencies.add(ref);
    }
  }
  for (const one of [runtime, ...libraries.values()]) program.dependencies.add(one.bomRef);
  const digest = hash("sha256", JSON.stringify([packages, version, commit, deno]), "hex");
  const bom = new Models.Bom({
    // A UUID of version 8, whose bits are free.
    serialNumber: `urn:uuid:${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-8${
      digest.slice(17, 20)
    }-${digest.slice(20, 32)}`,
    metadata: new Models.Metadata({ component: program, timestamp: madeAt }),
    components: new Models.ComponentRepository([runtime, ...libraries.values()]),
  });
  const factory = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
  return `${new Serialize.JsonSerializer(factory).serialize(bom, { sortLists: true, space: 2 })}\n`;
}

/** Returns the texts of all licenses, one package after the other. Deno's own are in its repository. */
export function licenseTexts(packages: readonly EmbeddedPackage[], own: string, { deno }: Release): string {
  const rule = "=".repeat(80);
  const parts = packages.map((
    { name, version, license, texts },
  ) => [
    `${name} ${version} (${license})`,
    ...(texts.length > 0 ? texts : ["The package names this license and has no text of it."]),
  ]);
  const runtime = [
    `Deno ${deno} (MIT)`,
    `Copyright 2018-2026 the Deno authors. The runtime's license and those of V8, SQLite and its other parts are at\n` +
    `https://github.com/denoland/deno/tree/v${deno}`,
  ];
  return [["Gatehouse (MIT)", own], runtime, ...parts]
    .map(([title, ...texts]) =>
      `${rule}\n${title}\n${rule}\n\n${texts.map((text) => text?.trim()).join("\n\n")}\n`
    )
    .join("\n");
}
