// Builds @gatehouse/client and installs it, as its users do.
import { runLines } from "../runner/guides.ts";

const root = new URL("../../../", import.meta.url).pathname;

/** Builds the package. @returns The path of its file. */
export async function packClient(folder: string): Promise<string> {
  const build = new Deno.Command(Deno.execPath(), {
    args: ["run", "--cached-only", `--config=${root}deno.json`, "-A", `${root}packages/client/build.ts`],
    env: { PACK_DESTINATION: folder },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
  const { success, stderr } = await build.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  const [file] = [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".tgz"));
  return `${folder}/${file?.name}`;
}

/** Runs npm without questions and advertisements. @param words Such as `install ./package.tgz hono`. */
export async function npm(words: string, cwd: string): Promise<void> {
  await runLines(`npm ${words} --prefer-offline --no-audit --no-fund --loglevel=error`, { cwd });
}
