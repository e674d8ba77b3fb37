// Finds programs that tests need but not every machine has.

/**
 * @param names Names of programs on the PATH.
 * @returns Whether any of them is missing.
 * @throws When one is missing and `CI=true`, where all are required.
 */
export function programsMissing(...names: readonly string[]): boolean {
  return areMissing(names.filter((name) => !succeeds(`command -v ${name}`)));
}

/** @returns The same for a package of Python. */
export function pythonPackageMissing(name: string): boolean {
  return areMissing(succeeds(`python3 -c 'import ${name}'`) ? [] : [`${name} for python3`]);
}

function succeeds(command: string): boolean {
  const { success } = new Deno.Command("sh", { args: ["-c", command], stdout: "null", stderr: "null" })
    .outputSync();
  return success;
}

function areMissing(missing: readonly string[]): boolean {
  if (missing.length > 0 && Deno.env.get("CI") === "true") {
    throw new Error(`CI requires these tests, but these programs are missing: ${missing.join(", ")}`);
  }
  return missing.length > 0;
}
