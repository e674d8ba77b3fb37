// Finds programs that tests need but not every machine has.

/**
 * @param names Names of programs on the PATH.
 * @returns Whether any of them is missing.
 * @throws When one is missing and `CI=true`, where all are required.
 */
export function programsMissing(...names: readonly string[]): boolean {
  const missing = names.filter((name) =>
    !new Deno.Command("sh", { args: ["-c", `command -v ${name}`], stdout: "null" }).outputSync().success
  );
  if (missing.length > 0 && Deno.env.get("CI") === "true") {
    throw new Error(`CI requires these tests, but these programs are missing: ${missing.join(", ")}`);
  }
  return missing.length > 0;
}
