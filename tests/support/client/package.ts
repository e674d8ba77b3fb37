// Builds @gatehouse/client and installs it, as its users do.
import { poll } from "../runner/poll.ts";
import { runLines } from "../runner/guides.ts";
import { root } from "../build/sources.ts";
import settings from "../../../deno.json" with { type: "json" };

const name = `gatehouse-client-${settings.version}.tgz`;

/** Builds the package, once in a run of the tests. @param folder Where to put it outside of a run. @returns The path of its file. */
export async function packClient(folder: string): Promise<string> {
  const shared = Deno.env.get("TEST_RUN");
  if (shared === undefined) return await build(folder);
  const path = `${shared}/${name}`;
  try {
    Deno.mkdirSync(`${shared}/client`);
  } catch {
    // Another test builds it, or has built it.
    await poll(() => Deno.stat(path).then(() => true, () => false));
    return path;
  }
  Deno.renameSync(await build(`${shared}/client`), path);
  return path;
}

async function build(folder: string): Promise<string> {
  await runLines(
    `'${Deno.execPath()}' run --cached-only --config=${root}deno.json -A ${root}packages/client/build.ts`,
    { cwd: folder, env: { PACK_DESTINATION: folder } },
  );
  return `${folder}/${name}`;
}

/** Builds the package and unpacks it. @returns The folder of its modules. */
export async function unpackClient(folder: string): Promise<string> {
  await runLines(`tar -xzf ${await packClient(folder)}`, { cwd: folder });
  return `${folder}/package/dist`;
}

/** Runs npm without questions and advertisements. @param words Such as `install ./package.tgz hono`. */
export async function npm(words: string, cwd: string): Promise<void> {
  await runLines(`npm ${words} --prefer-offline --no-audit --no-fund --loglevel=error`, { cwd });
}
