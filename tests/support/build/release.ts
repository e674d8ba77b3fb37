// Makes a release of the current commit in dist/release: the binary, a bill of materials, all licenses, the clients and their
// checksums. Run by `deno task release`. Two runs result in the same bytes: each builds from its own clone and its own cache of
// packages, at the same path, and all files have the commit's time, which the binary contains.
import { hash } from "node:crypto";
import deno from "../../../deno.json" with { type: "json" };
import { billOfMaterials, licenseTexts, readPackages } from "./sbom.ts";
import { output, root } from "./sources.ts";

/** Part of the binary. */
const workshop = "/tmp/gatehouse-release";
const source = `${workshop}/source`;
const cache = `${workshop}/deno`;
const target = `${root}dist/release`;

async function setTimes(folder: string, time: Date): Promise<void> {
  for await (const { name, isDirectory, isSymlink } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) await setTimes(path, time);
    else if (!isSymlink) await Deno.utime(path, time, time);
  }
}

/** Two runs at a time would disturb each other. */
await Deno.mkdir(workshop, { mode: 0o700 });
try {
  await output("git", ["clone", "--quiet", "--no-hardlinks", root, source]);
  const [commit = "", seconds = ""] = (await output("git", ["log", "-1", "--format=%H %ct"], { cwd: source }))
    .split(" ");
  const madeAt = new Date(Number(seconds) * 1000);
  const inClone = { cwd: source, env: { DENO_DIR: cache, COMMIT: commit } };
  const lock = "deno.production.lock";
  await output(
    Deno.execPath(),
    ["install", "--frozen", `--lock=${lock}`, "--entrypoint", "main.ts"],
    inClone,
  );
  await setTimes(workshop, madeAt);
  await output(Deno.execPath(), ["task", "compile"], inClone);

  const registries = Array.from(Deno.readDirSync(`${cache}/npm`)).filter(({ isDirectory }) => isDirectory);
  const packages = await readPackages(
    JSON.parse(await Deno.readTextFile(`${source}/${lock}`)),
    `${cache}/npm/${registries[0]?.name}`,
  );
  const release = { version: deno.version, commit, madeAt, deno: Deno.version.deno };
  const name = `gatehouse-${release.version}`;
  const encode = (text: string) => new TextEncoder().encode(text);
  const files = {
    [`${name}-${Deno.build.os}-${Deno.build.arch}`]: await Deno.readFile(`${source}/dist/gatehouse`),
    [`${name}.cdx.json`]: encode(billOfMaterials(packages, release)),
    "LICENSES.txt": encode(licenseTexts(packages, await Deno.readTextFile(`${source}/LICENSE`), release)),
    [`gatehouse-client-${release.version}.tgz`]: await Deno.readFile(
      `${source}/dist/gatehouse-client-${release.version}.tgz`,
    ),
    "gatehouse.py": await Deno.readFile(`${source}/packages/python/gatehouse.py`),
  };
  await Deno.mkdir(target, { recursive: true });
  let sums = "";
  for (const [file, content] of Object.entries(files)) {
    const isProgram = file.startsWith(`${name}-`);
    await Deno.writeFile(`${target}/${file}`, content, { mode: isProgram ? 0o755 : 0o644 });
    sums += `${hash("sha256", content, "hex")}  ${file}\n`;
  }
  await Deno.writeTextFile(`${target}/SHA256SUMS`, sums);
  Deno.stdout.writeSync(encode(sums));
} finally {
  await Deno.remove(workshop, { recursive: true });
}
