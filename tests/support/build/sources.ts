// The files of the checkout, and those that the program starts with.
import deno from "../../../deno.json" with { type: "json" };

export const root = new URL("../../../", import.meta.url).pathname;

/** The modules of its threads. */
export const workers = [
  "commands/serve/http_worker.ts",
  "commands/stream_check_worker.ts",
  "db/engine/writer_worker.ts",
  "db/engine/backup_worker.ts",
  "db/engine/stream/stream_worker.ts",
  "services/access/password_worker.ts",
  "services/reports/reports_worker.ts",
] as const;

export const programFiles: readonly string[] = ["main.ts", ...workers];

/** Built before: what it was built from, and what the server offers at /download/. */
export const builtFiles = ["dist/build.json", `dist/gatehouse-client-${deno.version}.tgz`] as const;

/** @param folder From the root, with a slash at its end. @returns The paths of all files in it and below. */
export function filesBelow(folder: string): string[] {
  return [...Deno.readDirSync(root + folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${folder}${name}/`) : [folder + name]
  );
}

/** Runs a command, by default in the checkout. @returns Its standard output. @throws With all output when it fails. */
export async function output(
  program: string,
  args: readonly string[],
  { cwd = root, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
  const command = new Deno.Command(program, { args: [...args], cwd, env, stdin: "null" });
  const { success, stdout, stderr } = await command.output();
  const [text, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (!success) throw new Error(`${program} ${args.join(" ")}: ${text}${errors}`);
  return text!.trim();
}
