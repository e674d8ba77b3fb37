// The files of the checkout, and those that the program starts with.

export const root = new URL("../../../", import.meta.url).pathname;

/** The modules of its threads. */
export const workers = [
  "commands/serve/http_worker.ts",
  "db/engine/writer_worker.ts",
  "db/engine/backup_worker.ts",
  "services/sign_in/password_worker.ts",
  "services/reports/reports_worker.ts",
] as const;

export const programFiles: readonly string[] = ["main.ts", ...workers];

/** @param folder From the root, with a slash at its end. @returns The paths of all files in it and below. */
export function filesBelow(folder: string): string[] {
  return [...Deno.readDirSync(root + folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${folder}${name}/`) : [folder + name]
  );
}
